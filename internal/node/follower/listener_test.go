package follower

import (
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/keepvip/keepvip/members/subscription"
)

// listeningHost has listeners of this process, and nothing else.
type listeningHost struct{ kernel }

func (*listeningHost) Listen(at string, fallback []netip.AddrPort) (Proxy, error) {
	return Kernel{}.Listen(at, fallback)
}

// unasked is a way to members that nobody goes.
type unasked struct{}

func (unasked) Send(subscription.Ask) error         { return nil }
func (unasked) Packets() <-chan subscription.Packet { return nil }
func (unasked) Close() error                        { return nil }

// The old and the new address of a listener may share one: 127.0.0.1 is one of localhost's two.
func TestReloadMovesTheListenerToAnAddressThatItPartlyHas(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	port := l.Addr().(*net.TCPAddr).Port
	require.NoError(t, l.Close())
	opts := Options{
		Node: "w-1", Host: &listeningHost{}, Log: slog.New(slog.DiscardHandler),
		Open: func(uint16, bool) (Client, error) { return unasked{}, nil },
	}
	var f *Follower
	for _, host := range []string{"127.0.0.1", "localhost", "127.0.0.1"} {
		at := fmt.Sprintf("%s:%d", host, port)
		next, err := Open(configOf(t, at), opts, f)
		require.NoError(t, err, at)
		f = next
		c, err := net.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", port))
		require.NoError(t, err, at)
		assert.NoError(t, c.Close())
	}
	require.NoError(t, f.proxy.Close())
}
