package daemon

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"

	"github.com/keepvip/keepvip/internal/base/code"
	"github.com/keepvip/keepvip/internal/kernel/link"
	"github.com/keepvip/keepvip/internal/serve/instance"
)

// where is what decides the place of an instance.
type where struct {
	addresses []netip.Prefix // the first one decides
	link      string         // the name of an interface; empty: the one whose subnet holds the first address
	peers     []netip.Addr   // unicast: the nodes' own addresses, this node's usually among them
	source    netip.Addr     // the own address; zero: the one that suits
}

// place finds the interface and the own address there. The error says what is missing.
func (h hostLinks) place(w where) (instance.Place, error) {
	first := w.addresses[0].Addr()
	l, err := link.Choose(h.own, first, w.link)
	if err != nil {
		if off := h.own.electsWithoutIPv6(w); off != nil {
			return instance.Place{}, off
		}
		// The address of the node itself is none of its own by the name of a virtual one.
		return instance.Place{}, code.With(code.InterfaceMissing, cmp.Or(link.NotOwn(h.all, first, h.virtual), err))
	}
	if err := link.Suitable(l, w.addresses...); err != nil {
		return instance.Place{}, err
	}
	if !l.Up {
		return instance.Place{}, code.With(code.LinkDown, fmt.Errorf("%s is down", l.Name))
	}
	source, ok := sourceOf(l, first, w)
	if master := h.named(l.Master); !ok && master != "" {
		return instance.Place{}, code.With(code.PortOfAnother, fmt.Errorf("%s is a port of %s, which has the addresses of this host now: name %s as the interface", l.Name, master, master))
	}
	if !ok && w.source.IsValid() {
		return instance.Place{}, code.With(code.NoOwnAddress, fmt.Errorf("%s does not have %s yet, which vrrp.source wants", l.Name, w.source))
	}
	if off := h.own.electsWithoutIPv6(w); !ok && off != nil {
		return instance.Place{}, off
	}
	if !ok {
		return instance.Place{}, code.With(code.NoOwnAddress, fmt.Errorf("%s has no %s of its own yet", l.Name, familyWord(first)))
	}
	return instance.Place{Index: l.Index, Name: l.Name, Source: source, MAC: l.MAC.String(), Stay: l.Carriers}, nil
}

// sourceOf is the own address: the one that is asked for, or with a list of peers the one of them that is on the link.
func sourceOf(l link.Link, like netip.Addr, w where) (netip.Addr, bool) {
	wanted := w.peers
	if w.source.IsValid() {
		wanted = []netip.Addr{w.source}
	}
	for _, a := range l.Addresses {
		if slices.Contains(wanted, a.Prefix.Addr()) && !a.Tentative {
			return a.Prefix.Addr(), true
		}
	}
	if w.source.IsValid() {
		return netip.Addr{}, false
	}
	if len(w.peers) > 0 {
		return link.SourceToward(l, w.peers[0])
	}
	return link.Source(l, like)
}

func familyWord(a netip.Addr) string {
	if a.Is4() {
		return "IPv4 address"
	}
	return "IPv6 address"
}
