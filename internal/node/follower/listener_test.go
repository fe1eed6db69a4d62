package follower

import (
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/keepvip/keepvip/internal/base/code"
	"github.com/keepvip/keepvip/internal/serve/localproxy"
	"github.com/keepvip/keepvip/members/subscription"
)

// listeningHost has listeners of this process, and nothing else.
type listeningHost struct{ kernel }

func (*listeningHost) Listen(at string, fallback []netip.AddrPort) (localproxy.Listener, error) {
	return Kernel{}.Listen(at, fallback)
}

func (*listeningHost) Client(uint16, bool) (client, error) { return unasked{}, nil }

// unasked is a way to members that nobody goes.
type unasked struct{}

func (unasked) Send(subscription.Ask) error         { return nil }
func (unasked) Packets() <-chan subscription.Packet { return nil }
func (unasked) Close() error                        { return nil }

// Another program has the port: what goes straight to the members goes there all the same.
func TestFollowerGoesOnWithoutItsListener(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	p := Process{
		Node: "w-1", Host: &listeningHost{}, Log: slog.New(slog.DiscardHandler),
	}
	f, err := p.open(configOf(t, taken.Addr().String()), nil)
	require.NoError(t, err)
	now := time.Now()
	s := f.status(now)
	require.NotNil(t, s.Listener)
	assert.Equal(t, code.NotListening, s.Listener.Code)
	assert.Contains(t, s.Listener.Problem, "address already in use")
	require.NoError(t, taken.Close())
	f.listenAnew(now)
	assert.Nil(t, f.proxy, "not yet")
	f.listenAnew(now.Add(2 * listenAgain))
	require.NotNil(t, f.proxy)
	assert.Same(t, f.proxy.(listener).Proxy, f.entries[0].proxy.(listener).Proxy)
	s = f.status(now)
	assert.Empty(t, s.Listener.Problem)
	assert.Positive(t, s.Listener.Places)
	f.shut(f.proxy)
}

// The old and the new address of a listener may share one: 127.0.0.1 is one of localhost's two.
func TestReloadMovesTheListenerToAnAddressThatItPartlyHas(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	port := l.Addr().(*net.TCPAddr).Port
	require.NoError(t, l.Close())
	p := Process{
		Node: "w-1", Host: &listeningHost{}, Log: slog.New(slog.DiscardHandler),
	}
	var f *follower
	for _, host := range []string{"127.0.0.1", "localhost", "127.0.0.1"} {
		at := fmt.Sprintf("%s:%d", host, port)
		next, err := p.open(configOf(t, at), f)
		require.NoError(t, err, at)
		f = next
		c, err := net.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", port))
		require.NoError(t, err, at)
		assert.NoError(t, c.Close())
	}
	f.shut(f.proxy)
}
