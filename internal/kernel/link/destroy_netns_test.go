//go:build netns

package link

import (
	"net"
	"net/netip"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/keepvip/keepvip/internal/base/netnstest"
)

// TestDestroyTCPWakesTheClient destroys one connection of two, of each kind of socket that a client may have.
func TestDestroyTCPWakesTheClient(t *testing.T) {
	for name, tt := range map[string]struct{ listen, dial string }{
		"IPv4":                   {"127.0.0.1:0", "127.0.0.1"},
		"IPv4 on an IPv6 socket": {"127.0.0.1:0", "::ffff:127.0.0.1"},
		"IPv6":                   {"[::1]:0", "::1"},
	} {
		t.Run(name, func(t *testing.T) {
			netnstest.New(t)
			l, err := net.Listen("tcp", tt.listen)
			require.NoError(t, err)
			defer func() { _ = l.Close() }()
			port := l.Addr().(*net.TCPAddr).AddrPort().Port()
			doomed, spared := connect(t, tt.dial, port), connect(t, tt.dial, port)
			c := Connection{local(t, doomed), netip.AddrPortFrom(netip.MustParseAddr(tt.dial).Unmap(), port)}
			other := c
			other.Local = netip.AddrPortFrom(other.Local.Addr(), 1)

			ended, err := DestroyTCP([]Connection{c, other})
			require.NoError(t, err)
			assert.Equal(t, []Connection{c}, ended, "and not the one that does not exist")
			_, err = unix.Read(doomed, make([]byte, 1))
			assert.ErrorIs(t, err, unix.ECONNABORTED)
			_, err = unix.Write(spared, []byte("x"))
			require.NoError(t, err)
			_, err = unix.Read(spared, make([]byte, 1))
			assert.ErrorIs(t, err, unix.EAGAIN, "another connection lives, after its timeout")
		})
	}
}

// connect makes a connection with a socket of the address's own family, which the net package would not for an IPv4 address in IPv6.
func connect(t *testing.T, addr string, port uint16) int {
	t.Helper()
	a := netip.MustParseAddr(addr)
	var to unix.Sockaddr = &unix.SockaddrInet4{Port: int(port), Addr: [4]byte(a.Unmap().AsSlice()[:4])}
	family := unix.AF_INET
	if a.Is6() {
		to, family = &unix.SockaddrInet6{Port: int(port), Addr: a.As16()}, unix.AF_INET6
	}
	fd, err := unix.Socket(family, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	require.NoError(t, err)
	t.Cleanup(func() { _ = unix.Close(fd) })
	timeout := unix.NsecToTimeval((100 * time.Millisecond).Nanoseconds())
	require.NoError(t, unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &timeout))
	require.NoError(t, unix.Connect(fd, to))
	return fd
}

func local(t *testing.T, fd int) netip.AddrPort {
	t.Helper()
	sa, err := unix.Getsockname(fd)
	require.NoError(t, err)
	if four, ok := sa.(*unix.SockaddrInet4); ok {
		return netip.AddrPortFrom(netip.AddrFrom4(four.Addr), uint16(four.Port))
	}
	six := sa.(*unix.SockaddrInet6)
	return netip.AddrPortFrom(netip.AddrFrom16(six.Addr).Unmap(), uint16(six.Port))
}
