package daemon

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"

	"github.com/keepvip/keepvip/internal/base/code"
	"github.com/keepvip/keepvip/internal/config"
	"github.com/keepvip/keepvip/internal/kernel/link"
	"github.com/keepvip/keepvip/internal/serve/instance"
)

// ownLinks are the links of this machine with the node's own addresses alone: they tell which node this is, and where something belongs.
type ownLinks []link.Link

// among is the own address of this machine that is on a list.
func (o ownLinks) among(addrs []netip.Addr) (netip.Addr, bool) {
	for _, l := range o {
		for _, a := range l.Addresses {
			if !a.Tentative && slices.Contains(addrs, a.Prefix.Addr()) {
				return a.Prefix.Addr(), true
			}
		}
	}
	return netip.Addr{}, false
}

// placeOn is the place of addresses on an interface without an election.
func (o ownLinks) placeOn(on config.OnLink) (instance.Place, error) {
	first := on.Addresses[0].Addr()
	l, err := link.Choose(o, first, on.Interface)
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

// linkOf is the interface that an address belongs on, without the virtual addresses.
func (o ownLinks) linkOf(w where) (link.Link, error) {
	l, err := link.Choose(o, w.addresses[0].Addr(), w.link)
	switch {
	case err != nil:
		return l, err
	case !l.Up:
		return l, fmt.Errorf("%s is down", l.Name)
	}
	return l, nil
}

// linkFor is the name of the interface of these addresses; empty: there is none now.
func (o ownLinks) linkFor(v config.VIP, on config.OnLink) string {
	name := on.Interface
	if name == "" {
		name = v.Interface
	}
	l, err := link.Choose(o, v.First(), name)
	if err != nil {
		return ""
	}
	return l.Name
}

// electsWithoutIPv6 is the error of addresses that are elected with IPv6 where the interface has none; nil: that is not so. Where IPv4 addresses are among them
// they go with the election: nodes that have IPv6 would not hear one with IPv4, and two would hold them.
func (o ownLinks) electsWithoutIPv6(w where) error {
	if w.addresses[0].Addr().Is4() {
		return nil
	}
	for _, p := range w.addresses {
		l, err := link.Choose(o, p.Addr(), w.link)
		if err != nil || !ipv6Off("/proc/sys", l.Name) {
			continue
		}
		text := fmt.Sprintf("IPv6 is off on %s, and %s is elected with IPv6", l.Name, w.addresses[0].Addr())
		if i := slices.IndexFunc(w.addresses, func(p netip.Prefix) bool { return p.Addr().Is4() }); i >= 0 {
			text += fmt.Sprintf(", and %s with it: written first, it would be elected with IPv4", w.addresses[i].Addr())
		}
		return code.With(code.NoIPv6, errors.New(text))
	}
	return nil
}

// toward are the own addresses at p that suit addresses best, one of each family.
func (o ownLinks) toward(p instance.Place, addresses []netip.Addr) []netip.Addr {
	var out []netip.Addr
	i := slices.IndexFunc(o, func(l link.Link) bool { return l.Index == p.Index })
	for _, a := range addresses {
		if i < 0 || slices.ContainsFunc(out, func(o netip.Addr) bool { return o.Is4() == a.Is4() }) {
			continue
		}
		if own, ok := link.SourceToward(o[i], a); p.Source.Is4() && a.Is4() {
			out = append(out, p.Source)
		} else if ok {
			out = append(out, own.WithZone(""))
		} else if a.Is6() && p.Source.Is6() {
			out = append(out, p.Source.WithZone(""))
		}
	}
	return out
}
