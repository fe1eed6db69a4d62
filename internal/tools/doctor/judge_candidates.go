package doctor

import (
	"net/netip"
	"slices"

	"github.com/keepvip/keepvip/internal/base/code"
	"github.com/keepvip/keepvip/internal/base/printable"
	"github.com/keepvip/keepvip/internal/config"
	"github.com/keepvip/keepvip/internal/kernel/link"
)

// judgeCandidates looks for a node that may hold the address. heard tells whether anything is heard of that address.
func judgeCandidates(out *findings, f Facts, v config.VIP, w Wire, heard func(netip.Addr) bool) {
	if len(v.Candidates) == 0 || slices.ContainsFunc(v.Candidates, func(a netip.Addr) bool { return f.own(a) || heard(a) }) {
		return
	}
	out.say(v.Name, code.NoCandidates, Error, "none of the candidates (%s) is this host, and none is heard on %s: nobody can hold %s", printable.List(v.Candidates), w.Interface, first(v))
}

// own tells whether this host has the address.
func (f Facts) own(a netip.Addr) bool { return OnLinks(f.Links, a) }

// OnLinks tells whether a link has the address.
func OnLinks(links []link.Link, a netip.Addr) bool {
	return slices.ContainsFunc(links, func(l link.Link) bool {
		return slices.ContainsFunc(l.Addresses, func(o link.Address) bool { return o.Prefix.Addr() == a })
	})
}
