//go:build netns

package netnstests

import (
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/keepvip/keepvip/netns-tests/lab"
	"github.com/keepvip/keepvip/netns-tests/trial"
)

func TestHolderThatIsKilledOrStandsStillFallsSilent(t *testing.T) {
	t.Parallel()
	g := started(t, trial.Config{Addresses: dualStack()})
	for name, fault := range map[string]trial.Fault{
		"kill -9":  trial.KilledForGood,
		"SIGSTOP":  trial.Silenced("SIGSTOP", trial.BySignal, 6*time.Second),
		"debugger": trial.Silenced("ptrace", trial.ByDebugger, 2*time.Second),
		"freezer":  trial.Silenced("cgroup freezer", trial.ByFreezer, 2*time.Second),
	} {
		t.Run(name, func(t *testing.T) {
			if name == "freezer" && !lab.HasFreezer() {
				t.Log("no cgroup freezer on this machine: nothing to see")
				return
			}
			fallsSilent(t, g, fault, name == "kill -9" || name == "SIGSTOP")
		})
	}
}

// TestShows: what holds on any machine. How long something takes is measured by cmd/bench.
func TestShows(t *testing.T) {
	t.Parallel()
	for _, s := range trial.Shows() {
		if s.Measured {
			continue
		}
		t.Run(s.Name, func(t *testing.T) {
			t.Parallel()
			show(t, s)
		})
	}
}

func show(t *testing.T, s trial.Show) {
	t.Helper()
	found := must(s.Run(host, false))(t)
	t.Log(found)
	assert.Empty(t, found.Broken())
}

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

// A firewall that does not let protocol 112 out: nothing renews the lease of the fence, so the kernel silences the holder. An output hook tells
// the sender. The egress hook of another table drops what the kernel has taken from the socket: nobody is told, also of the frame by
// which a unicast lease is renewed, and the lease runs out.
func TestHolderWhoseAdvertisementsDoNotLeaveIsNotSaidToServe(t *testing.T) {
	const egress = `netdev kvtest { chain c { type filter hook egress device "eth0" priority 0; meta l4proto 112 drop; }; }`
	type row struct {
		table, reason string
		args          []string
	}
	each(t, map[string]row{
		"refused":                    {"inet kvtest { chain c { type filter hook output priority 0; meta l4proto 112 drop; }; }", "let protocol 112 (VRRP) out", nil},
		"dropped unsaid":             {egress, "another nftables table", nil},
		"dropped unsaid, by unicast": {egress, "another nftables table", []string{"--peer", "10.77.0.11"}},
	}, func(t *testing.T, tt row) {
		g := open(t, trial.Config{
			Lab: lab.Config{Nodes: 1}, Addresses: []netip.Addr{lab.VIP4, lab.VIP6}, Product: trial.Keepvip{Args: tt.args},
		})
		n := settled(t, g)
		must(n.RunInput("table "+tt.table, "nft", "-f", "-"))(t)
		answers := func() bool { return g.Lab.Reaches(g.Lab.Client.Namespace, lab.VIP4, 50*time.Millisecond) }
		eventually(t, time.Second, "the fence silences the node", func() bool { return !answers() })
		eventually(t, 4*time.Second, "status says so, and why", shows(n, func(v trial.VIPStatus) bool {
			return v.Observed == "fault" && v.Silent && v.Holder == "" && strings.Contains(v.Reason, tt.reason)
		}))

		must(n.Run("nft", "delete", "table", strings.Fields(tt.table)[0], "kvtest"))(t)
		eventually(t, 4*time.Second, "it serves again", shows(n, func(v trial.VIPStatus) bool { return v.Observed == "active" && answers() }))
	})
}
