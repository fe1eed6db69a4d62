package daemon

import (
	"fmt"
	"net/netip"

	"github.com/keepvip/keepvip/internal/base/code"
	"github.com/keepvip/keepvip/internal/config"
	"github.com/keepvip/keepvip/internal/kernel/link"
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
func (s *seen) places(v config.VIP) (instance.Place, error) {
	p, err := s.place(whereOf(v))
	if err != nil || len(v.Elsewhere) == 0 {
		return p, err
	}
	for _, l := range v.Links() {
		if l.Interface == "" {
			continue
		}
		other, err := s.placeOn(l)
		if err != nil {
			return instance.Place{}, err
		}
		p.Elsewhere += fmt.Sprintf("%s=%d ", other.Name, other.Index)
	}
	return p, nil
}

// linksOf are the links on which addresses belong, by their indexes, as far as they can be found now.
func (s *seen) linksOf(vips []config.VIP) map[int]bool {
	used := map[int]bool{}
	add := func(p instance.Place, err error) { used[p.Index] = used[p.Index] || err == nil }
	for _, v := range vips {
		add(s.place(whereOf(v)))
		for _, l := range v.Links() {
			if l.Interface != "" {
				add(s.placeOn(l))
			}
		}
	}
	return used
}

// placeOn is the place of addresses on an interface without an election.
func (s *seen) placeOn(on config.OnLink) (instance.Place, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	first := on.Addresses[0].Addr()
	l, err := link.Choose(s.own, first, on.Interface)
	switch {
	case err != nil:
		return instance.Place{}, code.With(code.InterfaceMissing, err)
	case !l.Up:
		return instance.Place{}, code.With(code.LinkDown, fmt.Errorf("%s is down", l.Name))
	}
	if err := link.Suitable(l, on.Addresses...); err != nil {
		return instance.Place{}, err
	}
	source, _ := link.Source(l, first) // an interface may do without an address of its own
	return instance.Place{Index: l.Index, Name: l.Name, Source: source, MAC: l.MAC.String(), Stay: l.Carriers}, nil
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
		there, by := in.VIP, kept
		there.Addresses = l.Addresses
		part := address.Part{}
		if l.Interface != "" {
			by = kernelLease{paced: kept.paced}
			part.Place = func() (instance.Place, error) { return b.host.seen.placeOn(l) }
		}
		part.Config = b.addressConfig(in, by, there, spread)
		out = append(out, part)
	}
	return out
}
