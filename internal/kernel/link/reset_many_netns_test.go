//go:build netns

package link

import (
	"context"
	"net"
	"net/netip"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"

	"github.com/keepvip/keepvip/internal/base/netnstest"
)

// batches is a context that ends after so many looks at it.
type batches struct {
	context.Context
	left int
}

func (b *batches) Err() error {
	if b.left--; b.left < 0 {
		return context.Canceled
	}
	return nil
}

// TestResetTCPBeginsWithTheLongestIdle: a client that says something is answered by a reset of the next node. A client that only listens learns
// of the end by nothing but the reset of this node. So these come first, and a reset that is called off has told them.
func TestResetTCPBeginsWithTheLongestIdle(t *testing.T) {
	for _, tt := range listening {
		t.Run(tt.name, func(t *testing.T) {
			vip := netip.MustParseAddr(tt.vip)
			client, s, l, port := serverAt(t, vip, tt.network, tt.listen)
			var silent, busy, served []net.Conn
			for i := range 2 * perBatch {
				client.Enter()
				c, err := net.Dial("tcp", net.JoinHostPort(tt.vip, port))
				require.NoError(t, err)
				s.Enter()
				end, err := l.Accept()
				require.NoError(t, err)
				t.Cleanup(func() { _, _ = c.Close(), end.Close() })
				if i%2 == 0 {
					busy, served = append(busy, c), append(served, end)
				} else {
					silent = append(silent, c)
				}
			}
			speak := func() {
				for i, c := range busy {
					_, err := c.Write([]byte("x"))
					require.NoError(t, err)
					_, err = served[i].Read(make([]byte, 1))
					require.NoError(t, err)
				}
			}
			busyPorts := map[string]bool{}
			for _, c := range busy {
				busyPorts[c.LocalAddr().String()] = true
			}
			s.Eventually(func() bool {
				speak()
				return longerIdle(t, vip, busyPorts)
			}, "the kernel has all that are silent as idle for longer than the others")

			n, err := ResetTCP(&batches{t.Context(), 2}, vip) // one look before the listing, one before the first batch
			require.ErrorIs(t, err, context.Canceled)
			assert.Equal(t, len(silent), n)
			for _, c := range silent {
				require.NoError(t, c.SetReadDeadline(time.Now().Add(netnstest.Patience)))
				_, err := c.Read(make([]byte, 1))
				require.ErrorIs(t, err, unix.ECONNRESET)
			}
			speak()
		})
	}
}

// longerIdle tells whether the connections from other ports than these were idle for longer than each of those.
func longerIdle(t *testing.T, vip netip.Addr, from map[string]bool) bool {
	t.Helper()
	s, err := nl.Subscribe(unix.NETLINK_INET_DIAG)
	require.NoError(t, err)
	defer s.Close()
	least, most := uint32(1<<31), uint32(0)
	for _, family := range []byte{unix.AF_INET, unix.AF_INET6} {
		all, err := newDiag(s).list(family, tcpInfo, connections, localIs([]netip.Addr{vip}))
		require.NoError(t, err)
		for _, c := range all {
			switch {
			case c.local().Addr() != vip:
			case from[c.remote().String()]:
				most = max(most, c.idle)
			default:
				least = min(least, c.idle)
			}
		}
	}
	return most < least
}

// TestResetTCPOfManyConnections, which two connections to the kernel share: each is reset once.
func TestResetTCPOfManyConnections(t *testing.T) {
	const many = manyBatches*perBatch + perBatch/2
	vip := netip.MustParseAddr("10.1.0.100")
	client, s, l, port := serverAt(t, vip, "tcp4", "0.0.0.0:0")
	var all []net.Conn
	for range many {
		client.Enter()
		c, err := net.Dial("tcp", net.JoinHostPort(vip.String(), port))
		require.NoError(t, err)
		s.Enter()
		end, err := l.Accept()
		require.NoError(t, err)
		t.Cleanup(func() { _, _ = c.Close(), end.Close() })
		all = append(all, c)
	}
	n, err := ResetTCP(t.Context(), vip)
	require.NoError(t, err)
	assert.Equal(t, many, n)
	for _, c := range all {
		require.NoError(t, c.SetReadDeadline(time.Now().Add(netnstest.Patience)))
		_, err := c.Read(make([]byte, 1))
		require.ErrorIs(t, err, unix.ECONNRESET)
	}
	n, err = ResetTCP(t.Context(), vip)
	require.NoError(t, err)
	assert.Zero(t, n)
}
