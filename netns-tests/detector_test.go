//go:build netns

package netnstests

import (
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/keepvip/keepvip/internal/base/code"
	"github.com/keepvip/keepvip/internal/node/history"
	"github.com/keepvip/keepvip/netns-tests/lab"
	"github.com/keepvip/keepvip/netns-tests/trial"
)

// TestDeadNodeIsFoundByItsSilenceEverywhere: its beats stop, its kernel answers no echo, and the others agree. One takes over, once.
func TestDeadNodeIsFoundByItsSilenceEverywhere(t *testing.T) {
	each(t, map[string]trial.Config{
		"IPv6":         {Product: trial.Fast(), Addresses: []netip.Addr{lab.VIP6}},
		"both, 5":      {Product: trial.Fast(), Addresses: dualStack(), Lab: lab.Config{Nodes: 5}},
		"with a key":   {Product: trial.Keyed{Args: trial.Fast().Args}},
		"two, witness": {Product: trial.Fast("--detector-witness", "10.77.0.201"), Lab: lab.Config{Nodes: 2}},
	}, func(t *testing.T, cfg trial.Config) {
		g := open(t, cfg)
		require.NoError(t, g.Watched())
		res := measure(t, g, trial.NodeDeath)
		assert.Zero(t, res.Report.Beside(res.Victim, res.FaultAt, res.Report.Ended), "the dead node answers beside another")
		moved(t, 1, res)
		if res.BySilence > 0 {
			return // a machine that is so late goes by the advertisements
		}
		moves, _ := historyOf(t, nodeOf(g, res.Taker))
		i := slices.IndexFunc(moves.Transitions, func(r history.Record) bool { return r.Code == code.NodeGone })
		require.GreaterOrEqual(t, i, 0, "%v", moves.Transitions)
		assert.Regexp(t, `no beat for \d+ ms, 10 echoes unanswered, `, moves.Transitions[i].Cause)
	})
}

// TestHolderWhoseHostAnswersIsNotGone: while somebody hears it, whatever else is lost, and while it stands still, when its lease decides. Members in virtual
// time go through all that may be lost between nodes.
func TestHolderWhoseHostAnswersIsNotGone(t *testing.T) {
	t.Parallel()
	g := open(t, trial.Config{Product: trial.Fast()})
	require.NoError(t, g.Watched())
	measure(t, g, trial.Lost("one other does not hear the holder").For(2*time.Second))
	require.NoError(t, g.Watched())
	moved(t, 1, measure(t, g, trial.Frozen(3*time.Second)))
	for _, n := range g.Lab.Nodes {
		assert.NotContains(t, g.Daemon(n).Log(), string(code.NodeGone), n.Label)
	}
}

// lined waits until each node hears of the end of each other one.
func lined(t *testing.T, g *trial.Group) {
	t.Helper()
	for _, n := range g.Lab.Nodes {
		eventually(t, 30*time.Second, n.Label+" has the lines of all others", shows(n, func(v trial.VIPStatus) bool {
			unlined := func(m trial.Member) bool { return !m.Lifeline }
			return len(slices.DeleteFunc(v.Members, unlined)) == len(g.Lab.Nodes)-1
		}))
	}
}

// nodeOf is the node of that number.
func nodeOf(g *trial.Group, id int) *lab.Node { return g.Lab.Nodes[id-1] }

// TestKilledHolderIsSilentBeforeAnotherAnswers: its kernel takes the lease away with the packet that tells the others. Where nobody hears that, the lease
// decides, as without lifelines.
func TestKilledHolderIsSilentBeforeAnotherAnswers(t *testing.T) {
	type row struct {
		vip   netip.Addr
		fault trial.Fault
		why   code.Code
	}
	each(t, map[string]row{
		"IPv4":                 {lab.VIP4, trial.KilledForGood, code.ProcessEnded},
		"IPv6":                 {lab.VIP6, trial.KilledForGood, code.ProcessEnded},
		"its end is not heard": {lab.VIP4, trial.KilledUnheard, code.HolderSilent},
	}, func(t *testing.T, c row) {
		g := open(t, trial.Config{Addresses: []netip.Addr{c.vip}})
		lined(t, g)
		res := measure(t, g, c.fault)
		assert.Zero(t, res.Report.Beside(res.Victim, res.FaultAt, res.Report.Ended), "the killed node answers beside another")
		moved(t, 1, res)
		if moves, _ := historyOf(t, nodeOf(g, res.Taker)); res.BySilence == 0 || c.why == code.HolderSilent {
			assert.True(t, slices.ContainsFunc(moves.Transitions, func(r history.Record) bool { return r.Code == c.why }), "%v", moves.Transitions)
		}
	})
}

// TestResetOnTheWayMovesNothing: a filter on the way ends a line for a holder that lives.
func TestResetOnTheWayMovesNothing(t *testing.T) {
	t.Parallel()
	g := open(t, trial.Config{})
	lined(t, g)
	stays(t, g, func() *lab.Node {
		holder := settled(t, g)
		for _, n := range g.Others(holder) {
			// The holder's next sign of life arrives as a reset, with TTL 255 and the right numbers.
			must(n.RunInput("table inet resets { chain in { type filter hook prerouting priority -300; ip saddr "+holder.Address.String()+" tcp dport 9646 tcp flags & (syn|fin|rst) == 0 counter tcp flags set 0x14; }; }", "nft", "-f", "-"))(t)
		}
		for _, n := range g.Others(holder) {
			// It asks for the address, or hears an advertisement before its turn to ask has come.
			eventually(t, 40*time.Second, "the line ends at "+n.Label, func() bool {
				return !strings.Contains(must(n.Run("nft", "list", "table", "inet", "resets"))(t), "counter packets 0 ")
			})
		}
		return holder
	})
	for _, n := range g.Lab.Nodes {
		assert.NotContains(t, g.Daemon(n).Log(), string(code.ProcessEnded))
	}
}
