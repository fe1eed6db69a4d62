package link

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
)

// Why Choose found no interface.
var (
	// ErrNoInterface: no interface has the name that was asked for.
	ErrNoInterface = errors.New("no such interface")
	// ErrNoSubnet: no name was given, and no interface has a subnet that contains the address.
	ErrNoSubnet = errors.New("no interface has a subnet that contains it")
)

// Choose picks the interface for addr: the one called name, or, if name is empty, the one whose subnet contains addr.
//
// Of several matching subnets the longest prefix wins, then the lowest index. What cannot tell one interface from another does not count as
// a subnet: host prefixes, virtual addresses (ours, or addr itself whatever its prefix length), loopback, and IPv6 link-local prefixes, which
// every interface has. The error wraps ErrNoInterface or ErrNoSubnet and says what to do.
func Choose(links []Link, addr netip.Addr, name string) (Link, error) {
	if name != "" {
		return named(links, name)
	}
	var best Link
	bits := -1
	for _, l := range links {
		n, ok := longest(l, addr)
		if ok && (n > bits || n == bits && l.Index < best.Index) {
			best, bits = l, n
		}
	}
	if bits < 0 {
		return Link{}, fmt.Errorf("link: interface for %s: %w (there are: %s); name the interface it belongs on", addr, ErrNoSubnet, subnets(links))
	}
	return best, nil
}

func named(links []Link, name string) (Link, error) {
	have := make([]string, 0, len(links))
	for _, l := range links {
		if l.Name == name || slices.Contains(l.AltNames, name) {
			return l, nil
		}
		have = append(have, l.Name)
	}
	return Link{}, fmt.Errorf("link: interface %q: %w (there are: %s); correct the name, or leave it out to choose by subnet",
		name, ErrNoInterface, list(have))
}

// longest is the prefix length of the most specific subnet of l that contains addr.
func longest(l Link, addr netip.Addr) (int, bool) {
	bits := -1
	for _, p := range candidates(l) {
		if p.addr != addr && p.subnet.Contains(addr) {
			bits = max(bits, p.subnet.Bits())
		}
	}
	return bits, bits >= 0
}

type candidate struct {
	addr   netip.Addr
	subnet netip.Prefix
}

func candidates(l Link) []candidate {
	if l.Loopback {
		return nil
	}
	var cs []candidate
	for _, a := range l.Addresses {
		if s := a.Subnet(); !a.Ours && s.IsValid() && !s.Addr().IsLinkLocalUnicast() {
			cs = append(cs, candidate{a.Prefix.Addr(), s})
		}
	}
	return cs
}

func subnets(links []Link) string {
	var have []string
	for _, l := range links {
		for _, c := range candidates(l) {
			have = append(have, l.Name+" "+c.subnet.String())
		}
	}
	return list(have)
}

// list keeps a message readable on a node with hundreds of container interfaces.
func list(have []string) string {
	const most = 12
	if len(have) == 0 {
		return "none"
	}
	if len(have) > most {
		have = append(have[:most:most], fmt.Sprintf("and %d more", len(have)-most))
	}
	return strings.Join(have, ", ")
}

// Addressed reports whether any link already has an address that could belong to the node: of the family of like, global in scope, and not
// ours. While there is none, the machine is probably still booting and Choose may well succeed later; once there is one, ErrNoSubnet is more
// likely a mistake in the configuration.
func Addressed(links []Link, like netip.Addr) bool {
	for _, l := range links {
		for _, a := range l.Addresses {
			if !l.Loopback && !a.Ours && sameFamily(a.Prefix.Addr(), like) && !a.Prefix.Addr().IsLinkLocalUnicast() {
				return true
			}
		}
	}
	return false
}

func sameFamily(a, b netip.Addr) bool { return a.Is4() == b.Is4() }
