package gather

import (
	"net/netip"
	"slices"

	"github.com/keepvip/keepvip/internal/config"
	"github.com/keepvip/keepvip/internal/kernel/link"
	"github.com/keepvip/keepvip/internal/tools/doctor"
)

// nameClaimants says of the hosts that claim an address on the link of that index which of them are listed peers, as the kernel's neighbour tables
// have it, or members, as the keepvip that runs here says.
func nameClaimants(w *doctor.Wire, index int, cfg *config.Config, running *daemon) {
	listed := func(a netip.Addr) bool {
		return slices.ContainsFunc(cfg.VIPs, func(v config.VIP) bool {
			return slices.ContainsFunc(v.VRRP.Peers, func(p netip.Addr) bool { return p.WithZone("") == a })
		})
	}
	for i := range w.Claims {
		w.Claims[i].Host = link.HostOf(index, w.Claims[i].MAC, listed)
		if !w.Claims[i].Host.IsValid() {
			w.Claims[i].Host = running.hostOf(w.Claims[i].MAC)
		}
	}
}

// hostOf is the member whose host has that MAC and claims an address; the zero Addr where none is known.
func (d *daemon) hostOf(mac string) netip.Addr {
	if d == nil {
		return netip.Addr{}
	}
	for _, v := range d.VIPs {
		for _, c := range v.Conflicts {
			if c.MAC == mac && c.Member.IsValid() {
				return c.Member
			}
		}
	}
	return netip.Addr{}
}
