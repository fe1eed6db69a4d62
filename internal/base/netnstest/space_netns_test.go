//go:build netns

package netnstest

import (
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/vishvananda/netlink"
)

// TestHasGivesAnAddressThatIsTakenAtOnce: the kernel puts in the route of an IPv6 address beside, and until then it may forward what comes
// for it. The rules that translate what is for this host then leave that connection alone for good.
func TestHasGivesAnAddressThatIsTakenAtOnce(t *testing.T) {
	s := New(t)
	s.Pair("va", s, "vb")
	for _, p := range []string{"10.0.0.1/32", "fd00::1/128"} {
		a, err := netlink.ParseAddr(p)
		require.NoError(t, err)
		for range 200 {
			s.Has("va", p)
			require.True(t, s.takes(a.IP), p)
			require.NoError(t, s.AddrDel(s.Link("va"), a))
			s.Eventually(func() bool { return !s.takes(a.IP) }, "it is gone")
		}
	}
}
