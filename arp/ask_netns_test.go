//go:build netns

package arp

import (
	"context"
	"net"
	"net/netip"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/keepvip/keepvip/internal/base/netnstest"
)

func (l *lan) asker(n *node, from, to netip.Addr) *Asker {
	l.t.Helper()
	var a *Asker
	n.In(func() {
		var err error
		a, err = OpenAsker(&n.ifi, from, to)
		require.NoError(l.t, err)
	})
	l.t.Cleanup(func() { _ = a.Close() })
	return a
}

// answer asks until it is answered: a client that was made just now may not be ready.
func (l *lan) answer(a *Asker) net.HardwareAddr {
	l.t.Helper()
	for start := time.Now(); ; {
		ctx, cancel := context.WithTimeout(l.t.Context(), 200*time.Millisecond)
		mac, err := a.Ask(ctx)
		cancel()
		if err == nil {
			return mac
		}
		require.ErrorIs(l.t, err, ErrSilent)
		require.Less(l.t, time.Since(start), netnstest.Patience, "%s never answered", a.to)
	}
}

func TestAskerAsksARealNeighbour(t *testing.T) {
	l := newLAN(t)
	bridge, err := l.client.LinkByIndex(l.bridge)
	require.NoError(t, err)
	n := &l.nodes[0]
	l.heard(l.open(n), netip.MustParseAddr("10.9.0.100"), n.ifi.HardwareAddr)
	// IPv6 first: its addresses do not survive that the link goes down.
	for _, tt := range []struct{ from, to string }{{"fd09::11", "fd09::1"}, {"10.9.0.11", "10.9.0.1"}} {
		from := netip.MustParseAddr(tt.from)
		a := l.asker(n, from, netip.MustParseAddr(tt.to))
		for range 3 { // by all, then by itself
			assert.Equal(t, bridge.Attrs().HardwareAddr, l.answer(a))
		}
		nobody := l.asker(n, from, from.Next())
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		_, err = nobody.Ask(ctx)
		cancel()
		assert.ErrorIs(t, err, ErrSilent)
		require.NoError(t, l.client.LinkSetDown(bridge))
		ctx, cancel = context.WithTimeout(t.Context(), 50*time.Millisecond)
		_, err = a.Ask(ctx)
		cancel()
		assert.ErrorIs(t, err, ErrSilent)
		assert.Nil(t, a.mac, "the next question is for all")
		require.NoError(t, l.client.LinkSetUp(bridge))
	}
	a := l.asker(n, netip.MustParseAddr("10.9.0.11"), netip.MustParseAddr("10.9.0.1"))
	require.NoError(t, l.client.LinkDel(bridge))
	port, err := l.client.LinkByName("port0")
	require.NoError(t, err)
	require.NoError(t, l.client.LinkDel(port))
	_, err = a.Ask(t.Context())
	assert.ErrorIs(t, err, ErrGone)
}
