package doctor

import (
	"fmt"
	"net/netip"
	"slices"

	"github.com/keepvip/keepvip/internal/base/code"
	"github.com/keepvip/keepvip/internal/config"
)

// listed tells whether the configuration of v lets in what comes from that host: nothing drops what keepvip itself does not want.
func (f Facts) listed(v config.VIP, source netip.Addr) bool {
	if f.keptOut(source) != nil {
		return false
	}
	is := func(a netip.Addr) bool { return a.WithZone("") == source }
	return v.Election != config.ElectionVRRP || len(v.VRRP.Peers) == 0 || slices.ContainsFunc(v.VRRP.Peers, is)
}

// judgeListed names the members that the configuration here keeps out: no list has their address, or they are behind a router. Both look like
// a filter on the way.
func judgeListed(out *findings, f Facts, v config.VIP, w Wire) {
	for _, h := range w.Hellos {
		if h.Own || h.Group != first(v) || f.listed(v, h.Source) || f.keptOut(h.Source) != nil {
			continue
		}
		out.about(v.Name, h.Source.String())(code.NotAPeer, Error, "%s is a member of %s, and its own address is not in vrrp.peers here", h.Source, first(v))
	}
	if f.Daemon == nil {
		return
	}
	for _, k := range f.Daemon.KeptOut {
		if k.VIP == v.Name {
			out.add(Finding{
				Code: k.Code, Severity: Error, VIP: v.Name, Peer: k.Source.String(), Remedy: k.Remedy,
				What: fmt.Sprintf("the keepvip of this host refuses what %s says: %s", k.Source, k.Text),
			})
		}
	}
}
