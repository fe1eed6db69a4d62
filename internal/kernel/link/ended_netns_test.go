//go:build netns

package link

import (
	"io"
	"net"
	"net/netip"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/keepvip/keepvip/internal/base/netnstest"
)

// TestForgetEndedForgetsWhatHasEnded has connections that the server closed first, and which its kernel remembers for that; those that are
// open, and those of other addresses, stay.
func TestForgetEndedForgetsWhatHasEnded(t *testing.T) {
	for _, tt := range listening {
		t.Run(tt.name, func(t *testing.T) {
			vip, own := netip.MustParseAddr(tt.vip), netip.MustParseAddr(tt.own)
			client, s, l, port := serverAt(t, vip, tt.network, tt.listen)
			// connect returns both ends of a connection.
			connect := func(to string) (c, served net.Conn) {
				client.Enter()
				c, err := net.Dial("tcp", net.JoinHostPort(to, port))
				require.NoError(t, err)
				t.Cleanup(func() { _ = c.Close() })
				s.Enter()
				served, err = l.Accept()
				require.NoError(t, err)
				t.Cleanup(func() { _ = served.Close() })
				return c, served
			}
			end := func(to string) {
				c, served := connect(to)
				require.NoError(t, served.Close())
				_, err := io.ReadAll(c)
				require.NoError(t, err)
				require.NoError(t, c.Close())
			}
			open, served := connect(tt.vip)
			end(tt.vip)
			end(tt.vip)
			end(tt.own)
			// The last acknowledgement may be on its way. This goroutine alone is in the server's namespace.
			forgotten := 0
			for limit := time.Now().Add(netnstest.Patience); forgotten < 2 && time.Now().Before(limit); time.Sleep(time.Millisecond) {
				n, err := ForgetEnded(vip)
				require.NoError(t, err)
				forgotten += n
			}
			require.Equal(t, 2, forgotten)
			n, err := ForgetEnded(vip)
			require.NoError(t, err)
			assert.Zero(t, n, "twice")
			n, err = ForgetEnded(own)
			require.NoError(t, err)
			assert.Equal(t, 1, n, "of the other address")
			_, err = open.Write([]byte("x"))
			require.NoError(t, err)
			_, err = io.ReadFull(served, make([]byte, 1))
			assert.NoError(t, err, "the open one lives")
		})
	}
}
