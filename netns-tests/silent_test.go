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

// A firewall on the node that does not let protocol 112 out: nothing renews the lease of the fence, so the kernel silences the holder.
func TestHolderThatCannotAdvertiseIsNotSaidToServe(t *testing.T) {
	t.Parallel() // seconds of waiting for timers
	g := open(t, trial.Config{Lab: lab.Config{Nodes: 1}, Addresses: []netip.Addr{lab.VIP4, lab.VIP6}})
	n := settled(t, g)
	_, err := n.RunInput("table inet kvtest { chain c { type filter hook output priority 0; meta l4proto 112 drop; }; }", "nft", "-f", "-")
	require.NoError(t, err)
	eventually(t, time.Second, "the fence silences the node", func() bool { return !g.Lab.Reaches(g.Lab.Client.Namespace, lab.VIP4, 50*time.Millisecond) })
	eventually(t, 4*time.Second, "status says so", func() bool {
		s, err := trial.Keepvip{}.Status(n)
		return err == nil && s.VIPs[0].Observed == "fault" && s.VIPs[0].Silent && s.VIPs[0].Holder == ""
	})
	s, err := trial.Keepvip{}.Status(n)
	require.NoError(t, err)
	assert.Contains(t, s.VIPs[0].Reason, "let protocol 112 (VRRP) out")

	_, err = n.Run("nft", "delete", "table", "inet", "kvtest")
	require.NoError(t, err)
	eventually(t, 4*time.Second, "it serves again", func() bool {
		s, err := trial.Keepvip{}.Status(n)
		return err == nil && s.VIPs[0].Observed == "active" && g.Lab.Reaches(g.Lab.Client.Namespace, lab.VIP4, 50*time.Millisecond)
	})
}

// Another table's egress hook drops the advertisements that the kernel has taken from the socket: nobody is told, and the lease runs out.
func TestHolderWhoseAdvertisementsAreDroppedUnsaidIsNotSaidToServe(t *testing.T) {
	t.Parallel() // seconds of waiting for timers
	g := open(t, trial.Config{Lab: lab.Config{Nodes: 1}, Addresses: []netip.Addr{lab.VIP4, lab.VIP6}})
	n := settled(t, g)
	_, err := n.RunInput(`table netdev kvtest { chain c { type filter hook egress device "eth0" priority 0; meta l4proto 112 drop; }; }`, "nft", "-f", "-")
	require.NoError(t, err)
	eventually(t, time.Second, "the fence silences the node", func() bool { return !g.Lab.Reaches(g.Lab.Client.Namespace, lab.VIP4, 50*time.Millisecond) })
	eventually(t, 4*time.Second, "status says so", func() bool {
		s, err := trial.Keepvip{}.Status(n)
		return err == nil && s.VIPs[0].Observed == "fault" && s.VIPs[0].Silent && s.VIPs[0].Holder == ""
	})
	s, err := trial.Keepvip{}.Status(n)
	require.NoError(t, err)
	assert.Contains(t, s.VIPs[0].Reason, "another nftables table")

	_, err = n.Run("nft", "delete", "table", "netdev", "kvtest")
	require.NoError(t, err)
	eventually(t, 4*time.Second, "it serves again", func() bool {
		s, err := trial.Keepvip{}.Status(n)
		return err == nil && s.VIPs[0].Observed == "active" && g.Lab.Reaches(g.Lab.Client.Namespace, lab.VIP4, 50*time.Millisecond)
	})
}
