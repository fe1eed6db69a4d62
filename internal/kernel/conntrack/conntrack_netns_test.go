//go:build netns

package conntrack

import (
	"net"
	"os/exec"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/keepvip/keepvip/internal/base/netnstest"
)

// TestConnectionsOfAPort are listed, each as its client made it and as it was translated, and deleted one by one.
func TestConnectionsOfAPort(t *testing.T) {
	for name, tt := range map[string]struct {
		family    uint8
		nft       string
		listen    string
		to, other string
	}{
		"IPv4": {unix.NFPROTO_IPV4, "ip", "127.0.0.1:6443", "127.0.0.1:9443", "127.0.0.1:9444"},
		"IPv6": {unix.NFPROTO_IPV6, "ip6", "[::1]:6443", "[::1]:9443", "[::1]:9444"},
	} {
		t.Run(name, func(t *testing.T) {
			netnstest.New(t)
			out, err := exec.Command("nft", "add table "+tt.nft+" t; add chain "+tt.nft+" t c { type nat hook output priority -100; }; add rule "+
				tt.nft+" t c tcp dport { 9443, 9444 } redirect to :6443").CombinedOutput()
			require.NoError(t, err, "%s", out)
			l, err := net.Listen("tcp", tt.listen)
			require.NoError(t, err)
			defer func() { _ = l.Close() }()
			var conns []net.Conn
			for _, to := range []string{tt.to, tt.to, tt.other} {
				c, err := net.Dial("tcp", to)
				require.NoError(t, err)
				defer func() { _ = c.Close() }()
				conns = append(conns, c)
			}
			tracking, err := Open()
			require.NoError(t, err)
			defer tracking.Close()
			list := func() (out []Entry) {
				require.NoError(t, tracking.Each(tt.family, unix.IPPROTO_TCP, 9443, func(e Entry) { out = append(out, e) }))
				return out
			}
			var want []Entry
			for _, c := range conns[:2] {
				want = append(want, entry(unix.IPPROTO_TCP, c.LocalAddr().String(), tt.to, tt.listen, 3))
			}
			assert.ElementsMatch(t, want, list())
			require.NoError(t, tracking.Delete(want[0]))
			require.NoError(t, tracking.Delete(want[0]), "it is gone")
			assert.Equal(t, want[1:], list())
			require.NoError(t, tracking.Delete(want...), "one is gone, and one is there")
			assert.Empty(t, list())
		})
	}
}

// TestConnectionInAZone is listed and deleted, whether the zone counts for one direction or for both.
func TestConnectionInAZone(t *testing.T) {
	for _, zone := range []string{"zone", "original zone"} {
		netnstest.New(t)
		out, err := exec.Command("nft", "add table ip t; add chain ip t c { type filter hook output priority -300; }; add rule ip t c tcp dport 6443 ct "+
			zone+" set 7; add chain ip t p { type filter hook prerouting priority -300; }; add rule ip t p tcp dport 6443 ct "+zone+" set 7").CombinedOutput()
		require.NoError(t, err, "%s", out)
		l, err := net.Listen("tcp", "127.0.0.1:6443")
		require.NoError(t, err)
		defer func() { _ = l.Close() }()
		c, err := net.Dial("tcp", "127.0.0.1:6443")
		require.NoError(t, err)
		defer func() { _ = c.Close() }()
		tracking, err := Open()
		require.NoError(t, err)
		defer tracking.Close()
		var list []Entry
		each := func() {
			list = nil
			require.NoError(t, tracking.Each(unix.NFPROTO_IPV4, unix.IPPROTO_TCP, 6443, func(e Entry) { list = append(list, e) }))
		}
		each()
		require.NotEmpty(t, list)
		assert.Equal(t, uint16(7), list[0].Zone, zone)
		require.NoError(t, tracking.Delete(list...))
		each()
		assert.Empty(t, list, zone)
	}
}
