//go:build netns

package netnstests

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/keepvip/keepvip/netns-tests/lab"
	"github.com/keepvip/keepvip/netns-tests/trial"
)

// TestHolderWhoseRulesAreFlushedFallsSilent, whatever becomes of its daemon: where tables are owned at any moment, and
// else once they are there again.
func TestHolderWhoseRulesAreFlushedFallsSilent(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		path   string
		faults map[string]trial.Fault
	}{
		{"owned", "", map[string]trial.Fault{
			"kill -9":             trial.FlushedAnd(false),
			"kill -9 immediately": trial.FlushedAnd(true),
			"SIGSTOP":             trial.FlushedAndStopped(6 * time.Second),
		}},
		{"unowned", must(trial.Unowned())(t), map[string]trial.Fault{
			"kill -9": trial.FlushedAnd(false),
			"SIGSTOP": trial.FlushedAndStopped(6 * time.Second),
		}},
	} {
		g := started(t, trial.Config{Addresses: dualStack(), Product: trial.Keepvip{Path: c.path}})
		for name, fault := range c.faults {
			t.Run(c.name+", "+name, func(t *testing.T) {
				fallsSilent(t, g, fault, false)
			})
		}
		g.Close()
	}
}

// TestRulesAreFlushedAllTheTime: the holder stays the holder, and its fence is in place at the end.
func TestRulesAreFlushedAllTheTime(t *testing.T) {
	t.Parallel()
	for name, path := range map[string]string{"owned": "", "unowned": must(trial.Unowned())(t)} {
		t.Run(name, func(t *testing.T) {
			g := open(t, trial.Config{Addresses: dualStack(), Product: trial.Keepvip{Path: path}})
			var holder *lab.Node
			stays(t, g, func() *lab.Node {
				holder = must(g.Settle())(t)
				for range 30 {
					require.NoError(t, trial.Flush(holder))
					time.Sleep(100 * time.Millisecond)
				}
				return holder
			})
			eventually(t, 5*time.Second, "the fence is in place", func() bool {
				s := statusOf(t, holder)
				fence := s.VIPs[0].Fence
				return fence.Standing && (fence.Repairs > 0) == (path != "")
			})
		})
	}
}

// TestFlushesKeepSpreadConnections, at the holder and at members.
func TestFlushesKeepSpreadConnections(t *testing.T) {
	eachWay(t, func(t *testing.T, masquerade bool) {
		s := openSpread(t, trial.SpreadConfig{Product: trial.WithSpread{Masquerade: masquerade}})
		for _, e := range trial.Flushes() {
			keeps(t, s, e, 60)
		}
	})
}

// TestFlushesKeepConnectionsOfAFollower, which its own kernel translates.
func TestFlushesKeepConnectionsOfAFollower(t *testing.T) {
	t.Parallel()
	f := openFollower(t, trial.FollowerConfig{})
	held := must(f.HoldFrom(60))(t)
	for range 30 {
		require.NoError(t, trial.Flush(f.Worker))
		settleFor(100 * time.Millisecond)
	}
	noneLost(t, held.Stop())
	served(t, f, 60)
}
