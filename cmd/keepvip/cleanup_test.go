package main

import (
	"net/netip"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/keepvip/keepvip/internal/config"
	"github.com/keepvip/keepvip/internal/kernel/hostroute"
	"github.com/keepvip/keepvip/internal/serve/service/route"
)

// The table of a route may be one that no configuration names any more.
func TestCleanupLooksIntoEveryTableThatRoutesWerePutInto(t *testing.T) {
	dir := t.TempDir()
	own, main := hostroute.Table{Number: 198, Protocol: 248}, hostroute.Table{Number: 254, Protocol: 248}
	tables, err := tablesOf(dir)
	require.NoError(t, err)
	assert.Equal(t, []hostroute.Table{own, main}, tables)

	require.NoError(t, route.Remember(dir, config.VIP{Announce: config.Announce{Table: 100, Protocol: 77}}))
	require.NoError(t, route.Remember(dir, config.VIP{Announce: config.Announce{Table: 254, Protocol: 248}}))
	tables, err = tablesOf(dir)
	require.NoError(t, err)
	assert.Equal(t, []hostroute.Table{own, {Number: 100, Protocol: 77}, main}, tables, "each once")
}

func TestCleanupSaysWhatItHasRemoved(t *testing.T) {
	doc := cleanupDoc{
		Addresses: []removedAddress{{netip.MustParsePrefix("10.0.0.100/32"), "eth0"}, {netip.MustParsePrefix("fd00::100/128"), "eth1"}},
		Links:     []string{"vrrp.51"},
		Tables:    []string{"keepvip-eth0"},
		Routes:    []netip.Addr{netip.MustParseAddr("10.0.0.100")},
		Files:     []string{"/var/lib/keepvip/.holds.json.new-1"},
	}
	assert.Equal(t, "removed 10.0.0.100/32 from eth0\nremoved fd00::100/128 from eth1\nremoved the interface vrrp.51\nremoved the nftables table keepvip-eth0\nremoved the route to 10.0.0.100\nremoved /var/lib/keepvip/.holds.json.new-1\n", doc.text())
	var out strings.Builder
	require.NoError(t, printObject(&out, kindCleanup, doc))
	got := printsObject(t, kindCleanup, out.String())
	assert.Equal(t, []any{"keepvip-eth0"}, got["tables"])
	out.Reset()
	require.NoError(t, printObject(&out, kindCleanup, cleanupDoc{Addresses: []removedAddress{}, Links: []string{}, Tables: []string{}, Routes: []netip.Addr{}, Files: []string{}}))
	assert.Equal(t, []any{}, printsObject(t, kindCleanup, out.String())["addresses"], "nothing was left")
}
