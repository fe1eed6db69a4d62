//go:build netns

package link

import (
	"log/slog"
	"net"
	"net/netip"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/keepvip/keepvip/internal/base/netnstest"
)

// listening are the ways in which a server listens on its own address and on a virtual one.
var listening = []struct{ name, network, listen, vip, own string }{
	{"IPv4", "tcp4", "0.0.0.0:0", "10.1.0.100", "10.1.0.5"},
	{"IPv4 on a socket for both", "tcp", "[::]:0", "10.1.0.100", "10.1.0.5"},
	{"IPv6", "tcp6", "[::]:0", "fd01::100", "fd01::5"},
}

// serverAt is a client, and a server that has the virtual address and listens; this goroutine is in the server's namespace.
func serverAt(t *testing.T, vip netip.Addr, network, listen string) (client, s *netnstest.Space, l net.Listener, port string) {
	t.Helper()
	client = netnstest.New(t)
	s = netnstest.New(t)
	s.Pair("eth0", client, "cl0")
	s.Has("eth0", "10.1.0.5/24", "fd01::5/64")
	client.Has("cl0", "10.1.0.9/24", "fd01::9/64")
	h := handle(t, slog.Default())
	require.NoError(t, h.Add(s.Index("eth0"), []netip.Prefix{netip.PrefixFrom(vip, vip.BitLen())}, 0))
	l, err := net.Listen(network, listen)
	require.NoError(t, err)
	t.Cleanup(func() { _ = l.Close() })
	_, port, err = net.SplitHostPort(l.Addr().String())
	require.NoError(t, err)
	return client, s, l, port
}

// TestResetTCPTellsTheClients resets the connections of a virtual address, and only those: of servers that listen on the address itself, on
// all of IPv4, and on both families at once.
func TestResetTCPTellsTheClients(t *testing.T) {
	for _, tt := range listening {
		t.Run(tt.name, func(t *testing.T) {
			vip := netip.MustParseAddr(tt.vip)
			client, s, _, port := serverAt(t, vip, tt.network, tt.listen)

			client.Enter()
			dial := func(addr string) net.Conn {
				c, err := net.Dial("tcp", net.JoinHostPort(addr, port))
				require.NoError(t, err)
				t.Cleanup(func() { _ = c.Close() })
				return c
			}
			doomed := []net.Conn{dial(tt.vip), dial(tt.vip), dial(tt.vip)}
			spared := dial(tt.own)
			s.Enter()
			start := time.Now()
			n, err := ResetTCP(t.Context(), vip)
			require.NoError(t, err)
			assert.Equal(t, len(doomed), n)
			for _, c := range doomed {
				require.NoError(t, c.SetReadDeadline(time.Now().Add(netnstest.Patience)))
				_, err := c.Read(make([]byte, 1))
				assert.ErrorIs(t, err, unix.ECONNRESET)
			}
			t.Logf("%d clients knew after %s", n, time.Since(start))
			_, err = spared.Write([]byte("x"))
			assert.NoError(t, err)
			require.NoError(t, spared.SetReadDeadline(time.Now().Add(50*time.Millisecond)))
			_, err = spared.Read(make([]byte, 1))
			assert.ErrorIs(t, err, os.ErrDeadlineExceeded, "a connection of the node's own lives")
			client.Enter()
			dial(tt.vip)
			s.Enter()
			n, err = ResetTCP(t.Context(), netip.MustParseAddr("10.1.0.77"))
			require.NoError(t, err)
			assert.Zero(t, n, "nobody else's")
		})
	}
}
