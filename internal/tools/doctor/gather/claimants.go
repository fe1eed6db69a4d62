package gather

import (
	"net/netip"
	"slices"

	"github.com/keepvip/keepvip/internal/config"
	"github.com/keepvip/keepvip/internal/kernel/link"
	"github.com/keepvip/keepvip/internal/tools/doctor"
)

// nameClaimants says of the hosts that claim an address on the link of that index which of them are listed peers, as the kernel's neighbour tables
// have it.
func nameClaimants(w *doctor.Wire, index int, cfg *config.Config) {
	listed := func(a netip.Addr) bool {
		return slices.ContainsFunc(cfg.VIPs, func(v config.VIP) bool {
			return slices.ContainsFunc(v.VRRP.Peers, func(p netip.Addr) bool { return p.WithZone("") == a })
		})
	}
	for i := range w.Claims {
		w.Claims[i].Host = link.HostOf(index, w.Claims[i].MAC, listed)
	}
}
