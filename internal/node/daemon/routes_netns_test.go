//go:build netns

package daemon

import (
	"log/slog"
	"net/netip"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/keepvip/keepvip/internal/config"
	"github.com/keepvip/keepvip/internal/kernel/hostroute"
	"github.com/keepvip/keepvip/internal/serve/service/route"
)

// TestRouteOfAnotherTableIsRemovedAtTheStart: the address has another announce.table by now, and nobody looks after the
// route in the old one.
func TestRouteOfAnotherTableIsRemovedAtTheStart(t *testing.T) {
	spaceOf(t)
	routes, err := hostroute.Open()
	require.NoError(t, err)
	t.Cleanup(routes.Close)
	loopback, err := hostroute.Loopback()
	require.NoError(t, err)
	v := config.VIP{Name: "api", Election: config.ElectionLocal, Addresses: []netip.Prefix{netip.MustParsePrefix("10.99.0.100/32")}}
	v.Announce.Table, v.Announce.Protocol = unix.RT_TABLE_MAIN, config.DefaultProtocol
	now, before := route.TableOf(v), hostroute.Table{Number: config.DefaultTable, Protocol: config.DefaultProtocol}
	for _, table := range []hostroute.Table{now, before} {
		require.NoError(t, routes.Put(table, loopback, v.Bare(), false))
	}
	b := &builder{log: slog.New(slog.DiscardHandler)}
	require.NoError(t, b.removeRoutes(&config.Config{StateDir: t.TempDir(), VIPs: []config.VIP{v}}))
	for table, gone := range map[hostroute.Table][]netip.Addr{now: nil, before: v.Bare()} {
		missing, err := routes.Missing(table, loopback, v.Bare())
		require.NoError(t, err)
		assert.Equal(t, gone, missing, "table %d", table.Number)
	}
}
