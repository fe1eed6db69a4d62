package coverage

import (
	"errors"
	"net"
	"net/netip"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/keepvip/keepvip/internal/config"
	"github.com/keepvip/keepvip/internal/kernel/link"
)

// The holder says nothing of an address that takes connections, whatever listens: a packet filter may pass them on.
func TestHolderBelievesAConnectionMoreThanTheList(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	at := l.Addr().(*net.TCPAddr).AddrPort()
	v := config.VIP{
		Addresses: []netip.Prefix{netip.MustParsePrefix("127.0.0.1/32")}, Spread: config.Spread{Via: config.ViaOff},
		Check: config.Check{URL: "tcp://" + at.String()},
	}
	why := New(func() ([]link.Listener, error) {
		return []link.Listener{{At: netip.AddrPortFrom(netip.MustParseAddr("10.77.0.11"), at.Port())}}, nil
	}).Why(&v)
	assert.Empty(t, why(t.Context(), true))
	assert.Contains(t, why(t.Context(), false), "nothing listens at "+at.String())
	require.NoError(t, l.Close())
	assert.Contains(t, why(t.Context(), true), "nothing listens at "+at.String())
	v.Check.URL = "none"
	assert.Nil(t, New(nil).Why(&v), "no port is known")
	v.Check.URL = "kubeadm"
	assert.Empty(t, New(func() ([]link.Listener, error) { return nil, errors.New("no") }).Why(&v)(t.Context(), true))
}
