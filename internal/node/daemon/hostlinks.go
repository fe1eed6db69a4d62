package daemon

import (
	"net"
	"net/netip"
	"slices"

	"github.com/keepvip/keepvip/internal/kernel/link"
	"github.com/keepvip/keepvip/internal/serve/instance"
	"github.com/keepvip/keepvip/internal/serve/service/address"
)

// hostLinks are the links of this machine with their addresses, and which of these are virtual, as they were when they were last seen. Nobody changes
// what is in one.
type hostLinks struct {
	all     []link.Link
	own     ownLinks // all without virtual addresses, whose number must not make place slow
	virtual []netip.Addr
	subnets map[netip.Addr]netip.Prefix // addresses that are written with one
}

func (h *hostLinks) use(all []link.Link, virtual []netip.Addr) {
	h.all, h.virtual = all, virtual
	h.own = link.Without(all, virtual)
}

// has tells whether an address is on this node.
func (h hostLinks) has(addr netip.Addr) bool {
	return link.Have(h.all, addr.WithZone(""))
}

// isVirtual tells whether the configuration in force has an address as a virtual one.
func (h hostLinks) isVirtual(a netip.Addr) bool {
	return slices.Contains(h.virtual, a)
}

// up tells whether the link at p works, and did all the time since it became p.
func (h hostLinks) up(p instance.Place) bool {
	return slices.ContainsFunc(h.all, func(l link.Link) bool { return l.Index == p.Index && l.Up && l.Carriers == p.Stay })
}

// bindsOfOthers are those of the addresses that are on the link of that index for good and that keepvip has not put there, and the link's name.
func (h hostLinks) bindsOfOthers(index int, addresses []netip.Prefix) (out []netip.Prefix, name string) {
	for _, l := range h.all {
		for _, a := range l.Addresses {
			if l.Index == index && !a.Ours && a.Valid == 0 && slices.Contains(addresses, a.Prefix) {
				out, name = append(out, a.Prefix), l.Name
			}
		}
	}
	return out, name
}

// named is the name of the link of that index; empty where there is none.
func (h hostLinks) named(index int) string {
	i := slices.IndexFunc(h.all, func(l link.Link) bool { return l.Index == index })
	if index == 0 || i < 0 {
		return ""
	}
	return h.all[i].Name
}

// bound lists those of the addresses that are on a link, as last seen.
func (h hostLinks) bound(addresses []netip.Prefix) []address.Binding {
	wanted := make(map[netip.Addr]bool, len(addresses))
	for _, p := range addresses {
		wanted[p.Addr()] = true
	}
	var out []address.Binding
	for _, l := range h.all {
		for _, a := range l.Addresses {
			if wanted[a.Prefix.Addr()] {
				out = append(out, address.Binding{Index: l.Index, Prefix: a.Prefix})
			}
		}
	}
	return out
}

func (h hostLinks) ownAddresses() []netip.Addr {
	var out []netip.Addr
	for _, l := range h.all {
		for _, a := range l.Addresses {
			out = append(out, a.Prefix.Addr())
		}
	}
	return out
}

func (h hostLinks) ownMAC(mac net.HardwareAddr) bool {
	return slices.ContainsFunc(h.all, func(l link.Link) bool { return slices.Equal(l.MAC, mac) })
}

// strays lists addresses that an earlier run has bound and that the configuration does not know.
func (h hostLinks) strays() []address.Binding {
	var out []address.Binding
	for _, l := range h.all {
		for _, a := range l.Addresses {
			if a.Ours && !slices.Contains(h.virtual, a.Prefix.Addr()) {
				out = append(out, address.Binding{Index: l.Index, Prefix: a.Prefix})
			}
		}
	}
	return out
}

// leftovers lists the virtual addresses on a link, and on those that a virtual MAC has there, as last seen.
func (h hostLinks) leftovers(index int) []netip.Addr {
	var out []netip.Addr
	for _, l := range h.all {
		for _, a := range l.Addresses {
			if (l.Index == index || l.OursVirtual() && l.Below == index) && slices.Contains(h.virtual, a.Prefix.Addr()) {
				out = append(out, a.Prefix.Addr())
			}
		}
	}
	return out
}

// bearer is the link of that index if it is one of a virtual MAC.
func (h hostLinks) bearer(index int) (link.Link, bool) {
	i := slices.IndexFunc(h.all, func(l link.Link) bool { return l.Index == index && l.OursVirtual() })
	if i < 0 {
		return link.Link{}, false
	}
	return h.all[i], true
}

// raised tells whether the bearer of that index is up.
func (h hostLinks) raised(index int) bool {
	l, ok := h.bearer(index)
	return ok && l.Up
}
