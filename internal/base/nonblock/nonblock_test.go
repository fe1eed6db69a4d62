//go:build linux

package nonblock_test

import (
	"net/netip"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/keepvip/keepvip/internal/base/nonblock"
	"github.com/keepvip/keepvip/internal/base/sockaddr"
)

// bound is a socket of UDP at a port of its own.
func bound(t *testing.T, a netip.Addr) (fd int, at netip.AddrPort) {
	t.Helper()
	family := unix.AF_INET
	if a.Is6() {
		family = unix.AF_INET6
	}
	fd, err := unix.Socket(family, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	require.NoError(t, err)
	t.Cleanup(func() { _ = unix.Close(fd) })
	require.NoError(t, unix.Bind(fd, sockaddr.Of(a, 0, 0)))
	name, err := unix.Getsockname(fd)
	require.NoError(t, err)
	if v4, ok := name.(*unix.SockaddrInet4); ok {
		return fd, netip.AddrPortFrom(a, uint16(v4.Port))
	}
	return fd, netip.AddrPortFrom(a, uint16(name.(*unix.SockaddrInet6).Port))
}

func TestDatagramArrivesWithItsSender(t *testing.T) {
	for _, host := range []string{"127.0.0.1", "::1"} {
		t.Run(host, func(t *testing.T) {
			a := netip.MustParseAddr(host)
			from, sender := bound(t, a)
			to, receiver := bound(t, a)
			require.NoError(t, unix.SetsockoptInt(to, unix.SOL_SOCKET, unix.SO_TIMESTAMPNS, 1))
			var b [16]byte
			var oob [64]byte
			_, _, _, err := nonblock.Recvmsg(to, b[:], oob[:])
			require.ErrorIs(t, err, unix.EAGAIN)

			require.NoError(t, nonblock.Sendto(from, []byte("here"), sockaddr.Of(receiver.Addr(), receiver.Port(), 0)))
			n, oobn, who, err := nonblock.Recvmsg(to, b[:], oob[:])
			require.NoError(t, err)
			assert.Equal(t, "here", string(b[:n]))
			assert.Equal(t, sender, who)
			control, err := unix.ParseSocketControlMessage(oob[:oobn])
			require.NoError(t, err)
			require.Len(t, control, 1)
			assert.Equal(t, int32(unix.SCM_TIMESTAMPNS), control[0].Header.Type)
		})
	}
}

func TestSendtoTellsWhatTheKernelSays(t *testing.T) {
	fd, _ := bound(t, netip.MustParseAddr("127.0.0.1"))
	assert.ErrorIs(t, nonblock.Sendto(fd, nil, &unix.SockaddrUnix{}), unix.EAFNOSUPPORT)
	assert.ErrorIs(t, nonblock.Sendto(-1, []byte{1}, sockaddr.Of(netip.MustParseAddr("127.0.0.1"), 9, 0)), unix.EBADF)
	assert.ErrorIs(t, nonblock.Sendto(fd, make([]byte, 1<<17), sockaddr.Of(netip.MustParseAddr("127.0.0.1"), 9, 0)), unix.EMSGSIZE)
}

func TestReadyTakesTheEvent(t *testing.T) {
	epoll, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	require.NoError(t, err)
	t.Cleanup(func() { _ = unix.Close(epoll) })
	event, err := unix.Eventfd(0, unix.EFD_CLOEXEC)
	require.NoError(t, err)
	t.Cleanup(func() { _ = unix.Close(event) })
	require.NoError(t, unix.EpollCtl(epoll, unix.EPOLL_CTL_ADD, event, &unix.EpollEvent{Events: unix.EPOLLIN | unix.EPOLLONESHOT, Fd: int32(event)}))
	ready := func() bool {
		yes, err := nonblock.Ready(epoll)
		require.NoError(t, err)
		return yes
	}
	assert.False(t, ready())
	_, err = unix.Write(event, []byte{1, 0, 0, 0, 0, 0, 0, 0})
	require.NoError(t, err)
	assert.True(t, ready())
	assert.False(t, ready(), "one notice was asked for")
	_, err = nonblock.Ready(-1)
	assert.ErrorIs(t, err, unix.EBADF)
}
