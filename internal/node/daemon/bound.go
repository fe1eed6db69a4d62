package daemon

import (
	"net/netip"
	"slices"

	"github.com/keepvip/keepvip/internal/config"
	"github.com/keepvip/keepvip/internal/kernel/link"
)

// boundAs is how addresses are bound: those of IPv4 with a length of 32, whatever is written. With the length of the node's own subnet Linux
// makes the later of two addresses depend on the earlier, and takes it away with that: the node would lose its own address with the virtual
// one, or speak as that.
func boundAs(written []netip.Prefix) []netip.Prefix {
	out := make([]netip.Prefix, len(written))
	for i, p := range written {
		if out[i] = p; p.Addr().Is4() {
			out[i] = netip.PrefixFrom(p.Addr(), 32)
		}
	}
	return out
}

// subnetsOf are the addresses that are written with a subnet.
func subnetsOf(cfg *config.Config) map[netip.Addr]netip.Prefix {
	out := map[netip.Addr]netip.Prefix{}
	for _, v := range cfg.VIPs {
		for _, p := range v.Addresses {
			if p.Bits() < p.Addr().BitLen() {
				out[p.Addr()] = p
			}
		}
	}
	return out
}

// brought are those of the addresses whose subnet no own address of the link has: without a route of their own, answers would go to the
// router, or nowhere.
func (h hostLinks) brought(index int, addresses []netip.Prefix) (out []netip.Prefix) {
	if len(h.subnets) == 0 {
		return nil
	}
	for _, a := range addresses {
		if p, written := h.subnets[a.Addr()]; written && !h.own.covers(index, p.Masked()) {
			out = append(out, p)
		}
	}
	return out
}

// covers tells whether an own address of a link is in the subnet, or has one around it. One with a virtual MAC has none: those of the link below count.
func (o ownLinks) covers(index int, subnet netip.Prefix) bool {
	if i := slices.IndexFunc(o, func(l link.Link) bool { return l.Index == index && l.OursVirtual() }); i >= 0 {
		index = o[i].Below
	}
	for _, l := range o {
		if l.Index != index {
			continue
		}
		for _, a := range l.Addresses {
			if a.Prefix.Overlaps(subnet) && a.Prefix.Bits() < subnet.Addr().BitLen() {
				return true
			}
		}
	}
	return false
}

// leftBehind are those of the addresses, which are off now, whose routes the kernel does not take away with them: of IPv6, where no other address
// needs the route.
func (h hostLinks) leftBehind(index int, addresses []netip.Prefix) (out []netip.Prefix) {
	if len(h.subnets) == 0 {
		return nil
	}
	for _, a := range addresses {
		if p, written := h.subnets[a.Addr()]; written && p.Addr().Is6() && !h.needs(index, p.Masked()) {
			out = append(out, p)
		}
	}
	return out
}

// needs tells whether a virtual address of the link is written with that subnet.
func (h hostLinks) needs(index int, subnet netip.Prefix) bool {
	return slices.ContainsFunc(h.all, func(l link.Link) bool {
		return l.Index == index && slices.ContainsFunc(l.Addresses, func(a link.Address) bool {
			p, written := h.subnets[a.Prefix.Addr()]
			return written && p.Masked() == subnet
		})
	})
}
