package link

import (
	"net/netip"
	"slices"
)

// Source is the address from which the node speaks on l to others of the family of like: for IPv4 the primary address (RFC 9568 1.6), which
// is the first whose subnet contains like, else the first; for IPv6 a link-local address. Addresses of ours, and those that
// duplicate address detection has not cleared are passed over. It reports false when l has none yet.
func Source(l Link, like netip.Addr) (netip.Addr, bool) {
	usable := own(l, like)
	if !like.Is4() {
		i := slices.IndexFunc(usable, func(a Address) bool { return a.Prefix.Addr().IsLinkLocalUnicast() })
		return at(usable, i)
	}
	return nearest(usable, like)
}

// SourceToward is the address from which the node speaks on l to peer directly, by unicast: as Source, but for an IPv6 peer that is not
// link-local it is a global address, the one in the peer's subnet if there is one, and a deprecated or temporary one only if there is no other.
func SourceToward(l Link, peer netip.Addr) (netip.Addr, bool) {
	if peer.Is4() || peer.IsLinkLocalUnicast() {
		return Source(l, peer)
	}
	usable := slices.DeleteFunc(own(l, peer), func(a Address) bool { return a.Prefix.Addr().IsLinkLocalUnicast() })
	stable := slices.DeleteFunc(slices.Clone(usable), func(a Address) bool { return a.Deprecated || a.Secondary })
	if len(stable) > 0 {
		usable = stable
	}
	return nearest(usable, peer)
}

// own is what the node may call its own on l, in the kernel's order.
func own(l Link, like netip.Addr) []Address {
	var as []Address
	for _, a := range l.Addresses {
		if sameFamily(a.Prefix.Addr(), like) && !a.Ours && !a.Tentative && !a.DadFailed {
			as = append(as, a)
		}
	}
	return as
}

func nearest(as []Address, like netip.Addr) (netip.Addr, bool) {
	i := slices.IndexFunc(as, func(a Address) bool { s := a.Subnet(); return s.IsValid() && s.Contains(like) })
	return at(as, max(i, 0))
}

func at(as []Address, i int) (netip.Addr, bool) {
	if i < 0 || i >= len(as) {
		return netip.Addr{}, false
	}
	return as[i].Prefix.Addr(), true
}

// Without are the links without those addresses: what is left is the host's own.
func Without(links []Link, addrs []netip.Addr) []Link {
	drop := map[netip.Addr]bool{}
	for _, a := range addrs {
		drop[a] = true
	}
	out := slices.Clone(links)
	for i := range out {
		out[i].Addresses = slices.DeleteFunc(slices.Clone(out[i].Addresses), func(a Address) bool { return drop[a.Prefix.Addr()] })
	}
	return out
}

// Have tells whether an address is on any of the links.
func Have(links []Link, addr netip.Addr) bool {
	return slices.ContainsFunc(links, func(l Link) bool {
		return slices.ContainsFunc(l.Addresses, func(a Address) bool { return a.Prefix.Addr() == addr })
	})
}
