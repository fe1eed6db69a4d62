//go:build netns

package daemon

import (
	"log/slog"
	"net"
	"net/netip"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/keepvip/keepvip/internal/base/netnstest"
	"github.com/keepvip/keepvip/internal/config"
	"github.com/keepvip/keepvip/internal/kernel/link"
	"github.com/keepvip/keepvip/internal/serve/instance"
)

// spaceOf is a host in a network namespace of its own, with eth0 and its peer.
func spaceOf(t *testing.T) (*netnstest.Space, *host) {
	s := netnstest.New(t)
	s.Pair("eth0", s, "peer")
	s.Has("eth0", "10.1.0.5/24")
	links, err := link.Open(slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	t.Cleanup(func() { _ = links.Close() })
	h := newHost(links, slog.New(slog.DiscardHandler))
	_, err = h.refresh()
	require.NoError(t, err)
	return s, h
}

// The interface of a virtual MAC is up while it has an address, and down otherwise: a Backup takes nothing that is sent to the virtual MAC.
func TestBearerIsUpWithAnAddressAlone(t *testing.T) {
	s, h := spaceOf(t)
	up := func() bool {
		_, err := h.refresh()
		require.NoError(t, err)
		return h.seen.now().raised(s.Index("vrrp.51"))
	}
	v := config.VIP{Addresses: []netip.Prefix{netip.MustParsePrefix("10.1.0.100/32")}, Interface: "eth0", Election: config.ElectionVRRP}
	v.VRRP.ID, v.VRRP.VirtualMAC = 51, "auto"
	p, err := h.bearers.bearing(instance.Place{Index: s.Index("eth0"), Name: "eth0", Source: netip.MustParseAddr("10.1.0.5")}, v)
	require.NoError(t, err)
	assert.Equal(t, instance.Bearer{Index: s.Index("vrrp.51"), Name: "vrrp.51", MAC: "00:00:5e:00:01:33"}, p.Bearer)
	assert.False(t, up(), "it has no address yet")

	require.NoError(t, h.Bind(p.Bearer.Index, v.Addresses, time.Minute))
	assert.True(t, up())
	require.NoError(t, h.Unbind(p.Bearer.Index, v.Addresses))
	assert.False(t, up(), "the address has gone")

	require.NoError(t, h.Bind(p.Bearer.Index, v.Addresses, time.Minute))
	s.IP("link set peer down")
	s.Eventually(func() bool { return !up() }, "it has no carrier")
	require.NoError(t, h.Unbind(p.Bearer.Index, v.Addresses))
	i, err := net.InterfaceByName("vrrp.51")
	require.NoError(t, err)
	assert.Zero(t, i.Flags&net.FlagUp, "it would be up with the carrier")

	s.IP("link add vrrp.52 link eth0 type macvlan mode private")
	_, err = h.refresh()
	require.NoError(t, err)
	h.bearers.removeOthers(nil)
	left := []string{}
	all, err := h.links.Links()
	require.NoError(t, err)
	for _, l := range all {
		left = append(left, l.Name)
	}
	assert.Contains(t, left, "vrrp.52", "another program's")
	assert.NotContains(t, left, "vrrp.51")
}
