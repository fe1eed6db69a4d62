package link

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
)

// errUnsuitable: what would be the virtual address is something else on this node's network.
var errUnsuitable = errors.New("unsuitable address")

// Suitable refuses an address that no host may have on l: the network or broadcast address of one of its IPv4 subnets (RFC 1122,
// section 3.2.1.3; /31 has none, RFC 3021), and the subnet-router anycast address of an IPv6 subnet (RFC 4291, section 2.6.1; /127 has
// none, RFC 6164), for which every node that forwards answers. The error wraps errUnsuitable.
func Suitable(l Link, addresses ...netip.Prefix) error {
	subnets := candidates(l)
	for _, p := range addresses {
		for _, c := range subnets {
			if what := reserved(c.subnet, p.Addr()); what != "" {
				return fmt.Errorf("%w: %s is %s of %s on %s: choose one that a host can have", errUnsuitable, p.Addr(), what, c.subnet, l.Name)
			}
		}
	}
	return nil
}

// reserved is what addr means in subnet s, "" for the address of a host.
func reserved(s netip.Prefix, addr netip.Addr) string {
	switch {
	case !s.Contains(addr) || s.Bits() >= addr.BitLen()-1:
		return ""
	case addr == s.Addr() && addr.Is6():
		return "the subnet-router anycast address, for which every router answers,"
	case addr == s.Addr():
		return "the network address"
	case addr.Is4() && addr == broadcast(s):
		return "the broadcast address"
	}
	return ""
}

// broadcast is the last address of an IPv4 subnet.
func broadcast(s netip.Prefix) netip.Addr {
	last := s.Addr().As4()
	for i := s.Bits(); i < 32; i++ {
		last[i/8] |= 0x80 >> (i % 8)
	}
	return netip.AddrFrom4(last)
}

// NotOwn refuses an address that is this node's own, on any link: without it the node would have no address in that subnet, but for
// secondary ones. One that another program has bound beside the node's own is no own address. The virtual addresses never count as
// the node's. The error wraps errUnsuitable.
func NotOwn(links []Link, addr netip.Addr, virtual []netip.Addr) error {
	for _, l := range links {
		bound := slices.ContainsFunc(l.Addresses, func(a Address) bool { return a.Prefix.Addr() == addr && !a.Ours })
		if l.Loopback || !bound {
			continue
		}
		beside := slices.ContainsFunc(l.Addresses, func(a Address) bool {
			s := a.Subnet()
			return !a.Ours && !a.Secondary && a.Prefix.Addr() != addr && s.IsValid() && s.Contains(addr) && !slices.Contains(virtual, a.Prefix.Addr())
		})
		if beside {
			continue
		}
		err := fmt.Errorf("%w: %s is this node's own address on %s: choose one that no host has", errUnsuitable, addr, l.Name)
		if own, whole := behind(l, addr, virtual); own.IsValid() {
			return fmt.Errorf("%w; if another program has left it there, and %s is the node's own: "+
				"sysctl -w net.ipv4.conf.%s.promote_secondaries=1 && ip address del %s dev %s, which would take %s away with promote_secondaries 0", err, own.Addr(), l.Name, whole, l.Name, own.Addr())
		}
		return err
	}
	return nil
}

// behind is an address of the node that is secondary because addr is the first one of the subnet, with addr as it is there; the zero Prefix for none.
func behind(l Link, addr netip.Addr, virtual []netip.Addr) (own, whole netip.Prefix) {
	for _, a := range l.Addresses {
		switch {
		case a.Prefix.Addr() == addr:
			whole = a.Prefix
		case a.Secondary && !a.Ours && addr.Is4() && a.Prefix.Masked().Contains(addr) && !slices.Contains(virtual, a.Prefix.Addr()):
			own = a.Prefix
		}
	}
	return own, whole
}
