//go:build netns

package nonblock_test

import (
	"net"
	"net/netip"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/keepvip/keepvip/internal/base/nonblock"
	"github.com/keepvip/keepvip/internal/base/sockaddr"
)

// TestFrameLeaves: the loopback interface brings a frame back to the packet socket that sent it.
func TestFrameLeaves(t *testing.T) {
	const kind = 0x88b5 // IEEE 802, for local experiments
	network := sockaddr.NetworkOrder(kind)
	fd, err := unix.Socket(unix.AF_PACKET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, int(network))
	require.NoError(t, err)
	t.Cleanup(func() { _ = unix.Close(fd) })
	lo, err := net.InterfaceByName("lo")
	require.NoError(t, err)
	require.NoError(t, nonblock.Sendto(fd, []byte("frame"), &unix.SockaddrLinklayer{Protocol: network, Ifindex: lo.Index, Halen: 6}))
	var b [16]byte
	n, _, who, err := nonblock.Recvmsg(fd, b[:], nil)
	require.NoError(t, err)
	assert.Equal(t, "frame", string(b[:n]))
	assert.Equal(t, netip.AddrPort{}, who)
}
