//go:build netns

package netnstests

import (
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/keepvip/keepvip/internal/base/code"
	"github.com/keepvip/keepvip/netns-tests/lab"
	"github.com/keepvip/keepvip/netns-tests/trial"
)

// lined waits until each node hears of the end of each other one.
func lined(t *testing.T, g *trial.Group) {
	t.Helper()
	for _, n := range g.Lab.Nodes {
		eventually(t, 30*time.Second, n.Label+" has the lines of all others", func() bool {
			s, err := wholeStatus(n)
			if err != nil || len(s.VIPs) == 0 {
				return false
			}
			held := 0
			for _, m := range s.VIPs[0].Members {
				if m.Lifeline {
					held++
				}
			}
			return held == len(g.Lab.Nodes)-1
		})
	}
}

// whyHere is the code of the newest move that a node knows of.
func whyHere(t *testing.T, n *lab.Node) code.Code {
	t.Helper()
	_, r := historyOf(t, n)
	return r.Code
}

// nodeOf is the node of that number.
func nodeOf(g *trial.Group, id int) *lab.Node { return g.Lab.Nodes[id-1] }

// TestKilledHolderIsSilentBeforeAnotherAnswers: its kernel takes the lease away with the packet that tells the others.
func TestKilledHolderIsSilentBeforeAnotherAnswers(t *testing.T) {
	t.Parallel()
	for _, vip := range dualStack() {
		t.Run(vip.String(), func(t *testing.T) {
			t.Parallel()
			g := open(t, trial.Config{Addresses: []netip.Addr{vip}})
			settled(t, g)
			lined(t, g)
			res := measure(t, g, trial.KilledForGood)
			assert.Zero(t, res.Report.Beside(res.Victim, res.FaultAt, res.Report.Ended), "the killed node answers beside another")
			moved(t, 1, res)
			if res.BySilence > 0 {
				return
			}
			assert.Equal(t, code.ProcessEnded, whyHere(t, nodeOf(g, res.Taker)))
		})
	}
}

// TestKilledHolderWhoseEndIsNotHeard: the lease decides, as without lifelines.
func TestKilledHolderWhoseEndIsNotHeard(t *testing.T) {
	t.Parallel()
	g := open(t, trial.Config{})
	settled(t, g)
	lined(t, g)
	res := measure(t, g, trial.KilledUnheard)
	assert.Zero(t, res.Report.Beside(res.Victim, res.FaultAt, res.Report.Ended))
	moved(t, 1, res)
	assert.Equal(t, code.HolderSilent, whyHere(t, nodeOf(g, res.Taker)))
}

// TestResetOnTheWayMovesNothing: a filter on the way ends a line for a holder that lives.
func TestResetOnTheWayMovesNothing(t *testing.T) {
	t.Parallel()
	g := open(t, trial.Config{})
	settled(t, g)
	lined(t, g)
	stays(t, g, func() *lab.Node {
		holder := settled(t, g)
		for _, n := range g.Others(holder) {
			// The next sign of life on a line arrives as a reset, with TTL 255 and the right numbers.
			must(n.RunInput("table inet resets { chain in { type filter hook prerouting priority -300; tcp dport 9646 tcp flags & (syn|fin|rst) == 0 tcp flags set 0x14; }; }", "nft", "-f", "-"))(t)
		}
		for _, n := range g.Others(holder) {
			eventually(t, 40*time.Second, n.Label+" finds that the holder answers", func() bool {
				return strings.Contains(g.Daemon(n).Log(), "the lifeline of the Active has ended, and the address is answered for")
			})
		}
		return holder
	})
	for _, n := range g.Lab.Nodes {
		assert.NotContains(t, g.Daemon(n).Log(), string(code.ProcessEnded))
	}
}
