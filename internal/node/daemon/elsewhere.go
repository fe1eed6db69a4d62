package daemon

import (
	"fmt"
	"net/netip"

	"github.com/keepvip/keepvip/internal/config"
	"github.com/keepvip/keepvip/internal/serve/instance"
	"github.com/keepvip/keepvip/internal/serve/service/address"
)

// decidingOf are the addresses that decide where the election of v runs: the first, and what is on the same interface.
func decidingOf(v config.VIP) []netip.Prefix {
	out := v.Addresses[:1:1]
	if l := v.Links()[0]; l.Interface == "" {
		for _, p := range l.Addresses {
			if p != out[0] {
				out = append(out, p)
			}
		}
	}
	return out
}

// places finds the place of v, and that of what is elsewhere: without one of them there is no election.
func (h hostLinks) places(v config.VIP) (instance.Place, error) {
	p, err := h.place(whereOf(v))
	if err != nil || len(v.Elsewhere) == 0 {
		return p, err
	}
	for _, l := range v.Links() {
		if l.Interface == "" {
			continue
		}
		other, err := h.own.placeOn(l)
		if err != nil {
			return instance.Place{}, err
		}
		p.Elsewhere += fmt.Sprintf("%s=%d ", other.Name, other.Index)
	}
	return p, nil
}

// linksOf are the links on which addresses belong, by their indexes, as far as they can be found now.
func (h hostLinks) linksOf(vips []config.VIP) map[int]bool {
	used := map[int]bool{}
	add := func(p instance.Place, err error) { used[p.Index] = used[p.Index] || err == nil }
	for _, v := range vips {
		add(h.place(whereOf(v)))
		for _, l := range v.Links() {
			if l.Interface != "" {
				add(h.own.placeOn(l))
			}
		}
	}
	return used
}

// partsOf are the addresses of in by their interfaces. No advertisement leaves by those that are elsewhere, so that the lease there is
// renewed by this process. Only what is on one interface alone is spread.
func (b *builder) partsOf(in *instance.Config, spread *address.Spread) []address.Part {
	kept, links := electors[in.VIP.Election].kept(in.VIP), in.VIP.Links()
	if len(links) > 1 || links[0].Interface != "" {
		spread = nil
	}
	var out []address.Part
	for _, l := range links {
		there := in.VIP
		there.Addresses = l.Addresses
		if l.Interface == "" {
			out = append(out, b.addressPart(in, kept, there, spread))
			continue
		}
		part := b.addressPart(in, kernelLease{paced: kept.paced}, there, spread)
		part.Place = func() (instance.Place, error) { return b.host.seen.now().own.placeOn(l) }
		out = append(out, part)
	}
	return out
}
