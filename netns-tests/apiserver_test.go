//go:build netns

package netnstests

import (
	"net/netip"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/keepvip/keepvip/netns-tests/lab"
	"github.com/keepvip/keepvip/netns-tests/trial"
)

// One of each kind of failure: which answers count as one is what the tests of internal/check/health say, and the bench has all of them.
func TestUnhealthyAPIServerMovesTheAddress(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		fault trial.Fault
	}{
		{"killed", trial.APIKilled},
		{"500", trial.APIIll(lab.API500, "", 4*time.Second)},
		{"hangs", trial.APIIll(lab.APIHang, "", 5*time.Second)},
		{"stands still", trial.APIFrozen(5 * time.Second)},
		{"answers in drops", trial.APIIll(lab.APIDrip, "", 5*time.Second)},
		{"shuts down", trial.APIIll(lab.APIShutdown, "", 3*time.Second)},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			// A new group each time: a check that flaps is slow to believe in health again.
			res := counted(t, trial.Config{API: true}, c.fault)
			moved(t, 1, res)
			assert.Less(t, res.RSS, int64(32<<20), "memory at its most")
		})
	}
}

func TestAPIServerThatAnswers401Stays(t *testing.T) {
	t.Parallel()
	res := counted(t, trial.Config{API: true}, trial.APIIll(lab.API401, "", 2*time.Second))
	moved(t, 0, res)
}

func TestAllAPIServersFailingKeepsTheAddress(t *testing.T) {
	t.Parallel()
	res := counted(t, trial.Config{API: true}, trial.APIAllKilled)
	moved(t, 0, res)
}

func TestFirstAPIServerThatComesBackGetsTheAddress(t *testing.T) {
	t.Parallel()
	res := counted(t, trial.Config{API: true}, trial.APIOneBack)
	moved(t, 1, res)
}

func TestLostEtcdKeepsTheAddress(t *testing.T) {
	t.Parallel()
	res := counted(t, trial.Config{API: true}, trial.EtcdLost(4*time.Second, 4*time.Second))
	moved(t, 0, res)
}

func TestRecoveredNode(t *testing.T) {
	t.Parallel()
	ranked := trial.Config{API: true, Priorities: []int{200, 150, 100}, Product: trial.Keepvip{Args: []string{"--preempt-delay", "1s"}}}
	for _, c := range []struct {
		name  string
		give  trial.Config
		moves int
	}{{"leaves the address to its equal", trial.Config{API: true}, 1}, {"takes it back after preemptDelay with a higher priority", ranked, 2}} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			res := counted(t, c.give, trial.APIRestored(5*time.Second))
			moved(t, c.moves, res)
			if c.moves == 2 {
				assert.GreaterOrEqual(t, res.Answered, 1250*time.Millisecond, "two good probes and preemptDelay")
			}
		})
	}
}

func TestAPIServerThatRestartsMovesTheAddressOnce(t *testing.T) {
	t.Parallel()
	res := counted(t, trial.Config{API: true}, trial.APILoop(3*time.Second, 3*time.Second, time.Second))
	moved(t, 1, res)
}

func TestSlowAPIServerStays(t *testing.T) {
	t.Parallel()
	res := counted(t, trial.Config{API: true}, trial.APIIll(lab.APISlow, "200ms", 3*time.Second))
	moved(t, 0, res)
}

func TestLostRouterMovesTheAddress(t *testing.T) {
	t.Parallel()
	for _, vip := range dualStack() {
		t.Run(vip.String(), func(t *testing.T) {
			t.Parallel()
			res := counted(t, trial.Config{Product: trial.Gatewayed{}, Addresses: []netip.Addr{vip}}, trial.RouterLost(4*time.Second))
			moved(t, 1, res)
			assert.GreaterOrEqual(t, res.Seen, time.Duration(0), "keepvip has seen it")
		})
	}
}

func TestFirstHealthyNodeGetsTheAddress(t *testing.T) {
	t.Parallel()
	g := prepare(t, trial.Config{})
	for i, n := range g.Lab.Nodes {
		g.Settings[i].API = true
		require.NoError(t, g.Start(n))
	}
	first := settled(t, g)
	other := g.Lab.Nodes[first.ID%3]
	_, err := other.StartAPIServer()
	require.NoError(t, err)
	eventually(t, 5*time.Second, "the healthy node holds the address", func() bool {
		h := g.Holders()
		return len(h) == 1 && h[0] == other
	})
}
