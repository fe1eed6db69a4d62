//go:build netns

package link

import (
	"log/slog"
	"net/netip"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/keepvip/keepvip/internal/base/netnstest"
)

// A virtual address that is the first of the node's subnet goes alone.
func TestRemoveOfTheFirstAddressOfASubnetLeavesTheOthers(t *testing.T) {
	for _, promote := range []string{"0", "1"} {
		t.Run("promote_secondaries "+promote, func(t *testing.T) {
			s := netnstest.New(t)
			s.Pair("eth0", s, "far0")
			h := handle(t, slog.New(slog.DiscardHandler))
			s.Sysctl("net/ipv4/conf/all/promote_secondaries", promote)
			s.Sysctl("net/ipv4/conf/eth0/promote_secondaries", promote)
			s.IP("address add 10.9.0.100/24 dev eth0")
			s.IP("address add 10.9.0.1/24 dev eth0 label eth0:own brd +")
			s.IP("address add 10.9.0.2/24 dev eth0 valid_lft 500 preferred_lft 400")
			s.IP("route add default via 10.9.0.254 src 10.9.0.1")
			require.NoError(t, h.Remove(s.Index("eth0"), netip.MustParsePrefix("10.9.0.100/24")))

			var prefixes []string
			for _, a := range snapshot(t, h, "eth0").Addresses {
				if a.Prefix.Addr().Is4() {
					prefixes = append(prefixes, a.Prefix.String())
				}
			}
			assert.Equal(t, []string{"10.9.0.1/24", "10.9.0.2/24"}, prefixes)
			own, _ := listed(t, h, "eth0", "10.9.0.1/24")
			assert.False(t, own.Secondary)
			other, _ := listed(t, h, "eth0", "10.9.0.2/24")
			assert.NotZero(t, other.Valid)
			got, err := h.RouteFrom(netip.Addr{}, netip.MustParseAddr("203.0.113.1"))
			require.NoError(t, err, "the default route is there")
			assert.Equal(t, Route{s.Index("eth0"), netip.MustParseAddr("10.9.0.254")}, got)
			got, err = h.RouteFrom(own.Prefix.Addr(), netip.MustParseAddr("10.9.0.9"))
			require.NoError(t, err)
			assert.Equal(t, Route{Index: s.Index("eth0")}, got, "the subnet is on the link")
		})
	}
}
