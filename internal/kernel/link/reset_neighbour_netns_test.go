//go:build netns

package link

import (
	"net"
	"net/netip"
	"os/exec"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/keepvip/keepvip/internal/base/netnstest"
)

// TestResetTCPTellsClientsThatTheKernelHasForgotten: of hosts that are silent for long the kernel forgets the Ethernet address, and asks for it in
// the name of the virtual address. A fence lets no such question leave.
func TestResetTCPTellsClientsThatTheKernelHasForgotten(t *testing.T) {
	for _, tt := range listening {
		t.Run(tt.name, func(t *testing.T) {
			vip := netip.MustParseAddr(tt.vip)
			client, s, _, port := serverAt(t, vip, tt.network, tt.listen)
			client.Enter()
			c, err := net.Dial("tcp", net.JoinHostPort(tt.vip, port))
			require.NoError(t, err)
			t.Cleanup(func() { _ = c.Close() })
			s.Enter()
			out, err := exec.Command("nft", "add table netdev t; add chain netdev t c { type filter hook egress device eth0 priority 0; }; "+
				"add rule netdev t c arp saddr ip 10.1.0.100 drop; add rule netdev t c ip6 saddr fd01::100 icmpv6 type nd-neighbor-solicit drop").CombinedOutput()
			require.NoError(t, err, "%s", out)
			own := s.Link("eth0")
			s.Eventually(func() bool {
				all, err := netlink.AddrList(own, netlink.FAMILY_V6)
				require.NoError(t, err)
				return len(all) > 0 && !slices.ContainsFunc(all, func(a netlink.Addr) bool { return a.Flags&unix.IFA_F_TENTATIVE != 0 })
			}, "it can ask by IPv6")
			s.IP("neighbor flush all")
			n, err := ResetTCP(t.Context(), vip)
			require.NoError(t, err)
			assert.Equal(t, 1, n)
			require.NoError(t, c.SetReadDeadline(time.Now().Add(netnstest.Patience)))
			_, err = c.Read(make([]byte, 1))
			assert.ErrorIs(t, err, unix.ECONNRESET)
		})
	}
}
