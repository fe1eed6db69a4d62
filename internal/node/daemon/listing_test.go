package daemon

import (
	"net/netip"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/keepvip/keepvip/internal/config"
	"github.com/keepvip/keepvip/internal/kernel/link"
)

func TestListingsOfTheConfiguration(t *testing.T) {
	list := func(all ...string) (out []netip.Prefix) {
		for _, s := range all {
			out = append(out, netip.MustParsePrefix(s))
		}
		return out
	}
	cfg := &config.Config{VIPs: []config.VIP{
		{Addresses: list("fd00::1/128", "10.0.0.1/32", "10.0.0.2/24", "10.0.0.3/32", "10.0.0.4/32"), Labels: []string{"eth0:a", "", "eth0:c"}},
		{Addresses: list("10.0.0.5/32", "fd00::5/128"), Scope: config.ScopeLink},
		{Addresses: list("10.0.0.6/32"), Scope: config.ScopeGlobal},
	}}
	assert.Equal(t, map[netip.Addr]link.Listing{
		netip.MustParseAddr("10.0.0.1"): {Label: "eth0:a"},
		netip.MustParseAddr("10.0.0.3"): {Label: "eth0:c"},
		netip.MustParseAddr("10.0.0.5"): {Scope: link.ScopeLink},
	}, listings(cfg))
}
