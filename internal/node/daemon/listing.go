package daemon

import (
	"net/netip"

	"github.com/keepvip/keepvip/internal/config"
	"github.com/keepvip/keepvip/internal/kernel/link"
)

// know tells which addresses are virtual, and how they are listed.
func (h *host) know(cfg *config.Config) {
	h.seen.setVirtual(virtualAddresses(cfg))
	h.seen.setSubnets(subnetsOf(cfg))
	if h.links != nil {
		h.links.ListAs(listings(cfg))
	}
}

// listings are how the IPv4 addresses are listed that are not listed as usual.
func listings(cfg *config.Config) map[netip.Addr]link.Listing {
	scopes := map[config.Scope]link.Scope{config.ScopeSite: link.ScopeSite, config.ScopeLink: link.ScopeLink, config.ScopeHost: link.ScopeHost}
	out := map[netip.Addr]link.Listing{}
	for _, v := range cfg.VIPs {
		n := 0
		for _, p := range v.Addresses {
			if !p.Addr().Is4() {
				continue
			}
			d := link.Listing{Scope: scopes[v.Scope]}
			if n < len(v.Labels) {
				d.Label = v.Labels[n]
			}
			n++
			if d != (link.Listing{}) {
				out[p.Addr()] = d
			}
		}
	}
	return out
}
