//go:build netns

package link

import (
	"log/slog"
	"net"
	"net/netip"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestDeferAfterTheNodesAddressCameBack is a node with host addresses only, on which nothing but the order decides.
func TestDeferAfterTheNodesAddressCameBack(t *testing.T) {
	s := newSpace(t)
	s.pair("va", s, "vb")
	s.has("va", "10.1.0.5/32")
	h := s.handle(slog.Default())
	vip := netip.MustParsePrefix("10.1.0.100/32")
	index := s.index("va")
	require.NoError(t, h.Add(index, vip, time.Minute))
	assert.False(t, Leads(snapshot(t, h, "va"), vip))
	source := func() string {
		c, err := net.Dial("udp", "192.0.2.1:9")
		require.NoError(t, err)
		defer func() { _ = c.Close() }()
		return c.LocalAddr().(*net.UDPAddr).IP.String()
	}
	s.ip("route add default via 10.9.9.1 dev va onlink")
	assert.Equal(t, "10.1.0.5", source())

	s.ip("addr del 10.1.0.5/32 dev va")
	s.has("va", "10.1.0.5/32")
	s.ip("route replace default via 10.9.9.1 dev va onlink")
	require.True(t, Leads(snapshot(t, h, "va"), vip))
	assert.Equal(t, "10.1.0.100", source(), "what Defer is for")

	start := time.Now()
	require.NoError(t, h.Defer(index, vip, time.Minute))
	t.Logf("moved in %s", time.Since(start))
	assert.False(t, Leads(snapshot(t, h, "va"), vip))
	s.ip("route replace default via 10.9.9.1 dev va onlink")
	assert.Equal(t, "10.1.0.5", source())
}
