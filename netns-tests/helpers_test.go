//go:build netns

package netnstests

import (
	"net/netip"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/keepvip/keepvip/netns-tests/lab"
	"github.com/keepvip/keepvip/netns-tests/trial"
)

// Wide bounds at 100 ms advertisements: the Active_Down_Interval is below
// 400 ms, the rest is room for a busy machine.
const (
	takeoverBound = 800 * time.Millisecond
	twoBound      = 50 * time.Millisecond
)

func open(t *testing.T, cfg trial.Config) *trial.Group {
	t.Helper()
	g, err := trial.Open(host, cfg)
	require.NoError(t, err)
	t.Cleanup(func() { finish(t, g) })
	return g
}

func prepare(t *testing.T, cfg trial.Config) *trial.Group {
	t.Helper()
	g, err := trial.Prepare(host, cfg)
	require.NoError(t, err)
	t.Cleanup(func() { finish(t, g) })
	return g
}

func finish(t *testing.T, g *trial.Group) {
	t.Helper()
	if t.Failed() {
		t.Log(g.Logs())
	}
	g.Close()
}

// measure runs a fault and prints its timeline when the test fails.
func measure(t *testing.T, g *trial.Group, fault trial.Fault) *trial.Result {
	t.Helper()
	res, err := fault(g)
	require.NoError(t, err)
	t.Cleanup(func() {
		if t.Failed() {
			res.Report.Timeline(os.Stdout, res.FaultAt)
		}
	})
	// Bounds have room for what the machine itself may have added.
	res.Stall = max(res.Stall, res.Standstill)
	t.Logf("%s: outage %s ms, takeovers %d, two answering %s ms, standstill of the machine %s ms", res.Fault,
		lab.Milliseconds(res.Outage), res.Takeovers, lab.Milliseconds(res.Two), lab.Milliseconds(res.Stall))
	return res
}

// counted is [measure] with a group of its own, for faults whose moves are counted. To the others a daemon that does not run is a
// dead one: when the machine kept an ordinary process from running for longer than an advertisement interval, the run says nothing
// about moves and is done again with a new group, twice at most.
func counted(t *testing.T, cfg trial.Config, fault trial.Fault) *trial.Result {
	t.Helper()
	for again := 2; ; again-- {
		g := open(t, cfg)
		res := measure(t, g, fault)
		if again == 0 || !g.Starved(res) {
			return res
		}
		t.Logf("the machine stood still for %s ms within a second: once more", lab.Milliseconds(res.Standstill))
		g.Close()
	}
}

// settleFor lets real time pass: what is watched here happens in other processes.
func settleFor(d time.Duration) { <-time.After(d) }

func settled(t *testing.T, g *trial.Group) *lab.Node {
	t.Helper()
	n, err := g.Settle()
	require.NoError(t, err)
	return n
}

func hostPrefix(a netip.Addr) netip.Prefix { return netip.PrefixFrom(a, a.BitLen()) }

// eventually looks often enough for every test, and less often than keepvip answers one user on its metrics listener.
func eventually(t *testing.T, limit time.Duration, what string, condition func() bool) {
	t.Helper()
	assert.Eventually(t, condition, limit, 50*time.Millisecond, what)
}

func dualStack() []netip.Addr { return []netip.Addr{lab.VIP4, lab.VIP6} }
