//go:build netns

package main

import (
	"net/netip"
	"os/exec"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/keepvip/keepvip/internal/base/netnstest"
	"github.com/keepvip/keepvip/internal/config"
	"github.com/keepvip/keepvip/internal/kernel/hostroute"
	"github.com/keepvip/keepvip/internal/serve/service/route"
)

// A route on the loopback device outlives a keepvip that is killed, whatever its table and protocol were.
func TestCleanupRemovesARouteFromATableOfItsOwn(t *testing.T) {
	netnstest.New(t)
	require.NoError(t, exec.Command("ip", "link", "set", "lo", "up").Run())
	routes, err := hostroute.Open()
	require.NoError(t, err)
	defer routes.Close()
	loopback, err := hostroute.Loopback()
	require.NoError(t, err)
	own, other := hostroute.Table{Number: 100, Protocol: 77}, hostroute.Table{Number: 100, Protocol: 78}
	vip, foreign := netip.MustParseAddr("10.99.0.100"), netip.MustParseAddr("10.99.0.101")
	require.NoError(t, routes.Put(own, loopback, []netip.Addr{vip}, false))
	require.NoError(t, routes.Put(other, loopback, []netip.Addr{foreign}, false))

	dir := t.TempDir()
	require.NoError(t, route.Remember(dir, config.VIP{Announce: config.Announce{Table: own.Number, Protocol: 77}}))
	gone, err := cleanupRoutes(dir)
	require.NoError(t, err)
	assert.Equal(t, []netip.Addr{vip}, gone)
	missing, err := routes.Missing(other, loopback, []netip.Addr{foreign})
	require.NoError(t, err)
	assert.Empty(t, missing, "a route of another protocol is somebody else's")
}
