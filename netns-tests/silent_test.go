//go:build netns

package netnstests

import (
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/keepvip/keepvip/netns-tests/lab"
	"github.com/keepvip/keepvip/netns-tests/trial"
)

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
