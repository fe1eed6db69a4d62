//go:build netns

package fence

import (
	"io"
	"log/slog"
	"net"
	"net/netip"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/keepvip/keepvip/internal/base/netnstest"
	"github.com/keepvip/keepvip/internal/kernel/link"
)

// greeter tells everybody its name, and then says what it hears.
func greeter(t *testing.T, name byte, port string) {
	t.Helper()
	l, err := net.Listen("tcp", "[::]:"+port)
	require.NoError(t, err)
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer func() { _ = c.Close() }()
				_, _ = c.Write([]byte{name})
				_, _ = io.Copy(c, c)
			}()
		}
	}()
}

// TestForwardingSendsOnWhatIsOlder moves an address while a connection to it is open: that one goes on at the node that had the address, and new
// ones begin at the node that has it now.
func TestForwardingSendsOnWhatIsOlder(t *testing.T) {
	for _, tt := range []struct{ name, vip, to string }{
		{"IPv4", "10.1.0.100", "10.1.0.5"},
		{"IPv6", "fd01::100", "fd01::5"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			const port = "7443"
			vip, to := netip.MustParseAddr(tt.vip), netip.MustParseAddr(tt.to)
			wires := netnstest.New(t)
			wires.Bridge("br0")
			plug := func(s *netnstest.Space, name string, addrs ...string) {
				wires.Plug("br0", name, s)
				s.Has("eth0", addrs...)
			}
			client, before, after := netnstest.New(t), netnstest.New(t), netnstest.New(t)
			plug(client, "p0", "10.1.0.9/24", "fd01::9/64")
			plug(before, "p1", "10.1.0.5/24", "fd01::5/64")
			plug(after, "p2", "10.1.0.6/24", "fd01::6/64")
			before.Enter()
			greeter(t, 'b', port)
			bind := func(s *netnstest.Space) {
				s.Enter()
				require.NoError(t, handle(t, slog.Default()).Add(s.Index("eth0"), []netip.Prefix{netip.PrefixFrom(vip, vip.BitLen())}, 0))
			}
			// heard is what every announcement makes of the client's neighbour table.
			heard := func(s *netnstest.Space) {
				require.NoError(t, client.NeighSet(&netlink.Neigh{
					LinkIndex: client.Index("eth0"), IP: vip.AsSlice(), HardwareAddr: s.Link("eth0").Attrs().HardwareAddr, State: netlink.NUD_PERMANENT,
				}))
			}
			dial := func() (net.Conn, byte) {
				client.Enter()
				c, err := (&net.Dialer{Timeout: netnstest.Patience}).Dial("tcp", net.JoinHostPort(tt.vip, port))
				require.NoError(t, err)
				t.Cleanup(func() { _ = c.Close() })
				return c, says(t, c)
			}
			bind(before)
			heard(before)
			older, name := dial()
			require.Equal(t, byte('b'), name)

			bind(after)
			greeter(t, 'a', port)
			s := Forwarding{Index: after.Index("eth0"), Addresses: []netip.Addr{vip}, To: to}
			require.NoError(t, s.Begin(time.Minute))
			heard(after)
			_, err := older.Write([]byte("x"))
			require.NoError(t, err)
			assert.Equal(t, byte('x'), says(t, older), "it goes on where it was")
			for range 20 {
				_, name := dial()
				require.Equal(t, byte('a'), name, "a new one")
			}
			before.Enter()
			n, err := link.CountTCP([]netip.Addr{vip}, []netip.Addr{to})
			require.NoError(t, err)
			assert.Equal(t, 1, n)

			after.Enter()
			require.NoError(t, s.Keep(50*time.Millisecond))
			<-time.After(100 * time.Millisecond)
			require.NoError(t, older.SetDeadline(time.Now().Add(netnstest.Patience)))
			// What was still on its way, as an acknowledgement, may have brought about the reset already.
			if _, err = older.Write([]byte("y")); err == nil {
				_, err = older.Read(make([]byte, 1))
			}
			assert.ErrorIs(t, err, unix.ECONNRESET, "nobody keeps it up")
			require.NoError(t, s.Close())
			gone, err := Cleanup()
			require.NoError(t, err)
			assert.Empty(t, gone)
		})
	}
}

func says(t *testing.T, c net.Conn) byte {
	t.Helper()
	b := make([]byte, 1)
	require.NoError(t, c.SetDeadline(time.Now().Add(netnstest.Patience)))
	_, err := io.ReadFull(c, b)
	require.NoError(t, err)
	return b[0]
}

func TestForwardingOfAnEarlierRunIsCleanedUp(t *testing.T) {
	s := netnstest.New(t)
	s.Pair("eth0", s, "eth1")
	forwards := func(addresses ...netip.Addr) *Forwarding {
		return &Forwarding{Index: s.Index("eth0"), Addresses: addresses, To: netip.MustParseAddr("10.1.0.5")}
	}
	first, again := forwards(vip4, vip6), forwards(vip4, vip6)
	require.NoError(t, first.Begin(time.Minute))
	first.socket.close() // its process is gone
	require.NoError(t, again.Begin(time.Minute))
	again.socket.close()
	gone, err := Cleanup()
	require.NoError(t, err)
	assert.Equal(t, []string{"ip keepvip-forward-0a010064"}, gone)
	require.NoError(t, first.Close())
	require.NoError(t, again.Close())
	assert.ErrorContains(t, forwards(vip6).Begin(time.Minute), "no address of its family")
}
