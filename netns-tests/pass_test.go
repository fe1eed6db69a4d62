//go:build netns

package netnstests

import (
	"net/netip"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/keepvip/keepvip/netns-tests/lab"
	"github.com/keepvip/keepvip/netns-tests/trial"
)

// An unfit holder passes the address on in one ordered handover. An apiserver that is being stopped says so while it still serves: nothing fails at
// all.
func TestAPIServerThatIsBeingStoppedPassesTheAddressOn(t *testing.T) {
	t.Parallel()
	res := counted(t, trial.Config{API: true}, trial.APIIll(lab.APIShutdown, "", 2*time.Second))
	t.Logf("another node answered after %v, failing requests for %v, probes lost %d", res.Answered, res.HTTPS, res.Lost)
	passedOn(t, res)
	moved(t, 1, res)
}

func TestPlannedMoveLosesNothing(t *testing.T) {
	t.Parallel()
	g := started(t, trial.Config{Interval: 100 * time.Millisecond, Addresses: []netip.Addr{lab.VIP4, lab.VIP6}})
	for _, move := range []trial.Fault{trial.Verb("handover"), trial.Verb("drain"), trial.Terminated} {
		res := measure(t, g, move)
		t.Logf("probes lost %d", res.Lost)
		passedOn(t, res)
		assert.NotEqual(t, res.Victim, res.Taker)
		assert.Zero(t, res.Finders, "two nodes answering ARP or neighbour discovery")
		neverApart(t, res.Report)
	}
}

func TestHandoverSaysWhyItFails(t *testing.T) {
	t.Parallel()
	g, holder := openHeld(t, trial.Config{})
	backup := g.Lab.Nodes[holder.ID%3]
	assert.Equal(t, 1, command(t, backup, "handover"), "it holds nothing")
	assert.Equal(t, 3, command(t, holder, "handover", "--to", "nobody"))
	others := g.Others(holder)
	for _, n := range others {
		require.Equal(t, 0, command(t, n, "drain"))
	}
	knowsUnfit(t, holder, others...)
	refused(t, g, "the others are drained", "drain")
}

// What others do to a node's rule sets makes the fence slow. Then the address is passed on a little later, or not at all; it is
// never let go of before another node can take it. What clients lose on a machine that does nothing else is for the bench.
func TestPlannedMoveWhileOthersChangeRuleSets(t *testing.T) {
	g := opened(t, func(host *lab.Host, cfg trial.Config) (*trial.Group, error) {
		return trial.OpenBesideRuleSets(cfg)(host)
	},
		calm(trial.Config{Addresses: []netip.Addr{lab.VIP4, lab.VIP6}}))
	res := measure(t, g, trial.Verb("handover"))
	t.Logf("probes lost %d", res.Lost)
	first := announced(res)
	require.NotZero(t, first, "the next one announces")
	for _, a := range g.Addresses {
		if gone, lost := res.Report.Unbound(res.Victim, a, res.FaultAt); lost && res.BySilence == 0 {
			assert.Greater(t, gone, first, "%s was let go of before the next node announced it", a)
		}
	}
	moved(t, 1, res)
}

// Whoever has not the key moves nothing, and is counted.
func TestForgedMembersMoveNothingWithAKey(t *testing.T) {
	t.Parallel()
	g := open(t, trial.Config{Product: trial.Keyed{}})
	moved(t, 0, measure(t, g, trial.AttackMembers(2*time.Second, trial.ForgedRequest, trial.ForgedGrant, trial.ForgedHello, trial.ForeignKey, trial.ReplayedMembers)))
	for _, reason := range []string{"unsigned", "key", "replay"} {
		counted := 0
		for _, n := range g.Lab.Nodes {
			s := statusOf(t, n)
			if s.VIPs[0].Counters.MembersRejected[reason] > 0 {
				counted++
			}
		}
		assert.GreaterOrEqual(t, counted, 2, "%s: the kernel itself drops what bears the own address", reason)
	}
}

// The attack is real: without a key an attacker can have the address, and let it fall. But it takes what it takes to forge
// advertisements, a privilege on a host of the link.
func TestForgedMembersWorkWithoutAKey(t *testing.T) {
	t.Parallel() // no bound is on time
	g := started(t, trial.Config{})
	moved(t, 0, measure(t, g, trial.AttackMembers(time.Second, trial.UsersRequest)))
	refused := statusOf(t, settled(t, g)).VIPs[0].Counters.MembersRejected["port"]
	assert.NotZero(t, refused)
	eventually(t, trial.SettleLimit, "the address goes to nobody and comes back", func() bool {
		return measure(t, g, trial.AttackMembers(time.Second, trial.ForgedRequest)).Takeovers > 0
	})
}

// drainBegins has a node drained, and waited for its connections; what it returns gets the exit status.
func drainBegins(t *testing.T, n *lab.Node, limit string) (done chan int) {
	t.Helper()
	done = make(chan int, 1)
	go func() {
		_, code, err := trial.Keepvip{}.Command(n, "drain", "--wait", "--timeout", limit, "--socket", trial.Socket(n))
		assert.NoError(t, err)
		done <- code
	}()
	return done
}

// A client's open connection stays at the node that is drained, new ones begin at the next. The command returns when the
// connection has ended, and with too little time resets it.
func TestDrainWaitsForConnections(t *testing.T) {
	eachFamily(t, func(t *testing.T, vip netip.Addr) {
		g := open(t, trial.Config{Addresses: []netip.Addr{vip}, Interval: time.Second}) // only the drain moves it
		for _, n := range g.Lab.Nodes {
			t.Cleanup(must(n.StartTicker())(t).Close)
		}
		holder := settled(t, g)
		stop := must(g.Lab.Follow(g.Lab.Client.Namespace, vip))(t)
		done := drainBegins(t, holder, "60s")
		eventually(t, 3*time.Second, "new connections begin at the next node", func() bool {
			label, err := g.Lab.Greet(g.Lab.Client.Namespace, vip)
			return err == nil && label != holder.Label
		})
		settleFor(2 * time.Second)
		for range 20 {
			assert.NotEqual(t, holder.Label, must(g.Lab.Greet(g.Lab.Client.Namespace, vip))(t))
		}
		assert.Equal(t, "draining", statusOf(t, holder).VIPs[0].Observed)
		require.Empty(t, done, "the connection is open")
		session := stop(0)
		assert.Zero(t, session.Broken, session.How)
		assert.Zero(t, <-done, "the command returns when the connection has ended")
		goneOnceTold(t, holder, vip)
		require.Equal(t, 0, command(t, holder, "resume"))

		next := settled(t, g)
		stop = must(g.Lab.Follow(g.Lab.Client.Namespace, vip))(t)
		assert.Equal(t, 4, <-drainBegins(t, next, "1s"))
		session = stop(30 * time.Second)
		assert.NotZero(t, session.Broken, "it was reset")
		goneOnceTold(t, next, vip)
	})
}

// Whatever goes wrong while the address is passed on, and whenever: one node has it in the end, and never two.
func TestMishapsWhileTheAddressIsPassedOn(t *testing.T) {
	t.Parallel()
	g := open(t, trial.Config{Addresses: []netip.Addr{lab.VIP4, lab.VIP6}})
	short := []string{ // the bench has all of them, and members in virtual time have each message lost, and each step the last
		"the taker is killed at the GRANT", "the taker is killed at the announcement", "the holder is killed at the GRANT", "both are cut off at the GRANT",
	}
	seen := 0
	for _, m := range trial.Mishaps() {
		if slices.Contains(short, m.Name) {
			seen++
			recovers(t, g, m.Fault, m.Plain)
		}
	}
	require.Len(t, short, seen)
	recovers(t, g, trial.RandomMishap, true)
}

// recovers asserts that clients are answered in the end, and that two answer only where plain VRRP moves the address from a holder that lives,
// until that one has heard of the other.
func recovers(t *testing.T, g *trial.Group, fault trial.Fault, plain bool) {
	t.Helper()
	res := measure(t, g, fault)
	t.Logf("one holder again after %v, two answering ARP or ND for %v, after the heal for %v", res.Recovered, res.Finders, res.Healing)
	if !plain {
		assert.Zero(t, res.Finders, res.Fault)
	}
	settled(t, g)
}
