package config

import (
	"cmp"
	"fmt"
	"net/netip"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// Elsewhere is an address that is on another interface than the one of its entry.
type Elsewhere struct {
	Address   netip.Addr
	Interface string
}

// OnLink are the addresses of an entry that are on one interface.
type OnLink struct {
	Interface string // "": the entry's
	Addresses []netip.Prefix
}

// Links are the addresses by their interface: first those on the entry's, if there are any, then the others by the interface's name. So
// the interfaces keep their places when only the addresses have others.
func (v VIP) Links() []OnLink {
	var out []OnLink
	add := func(name string, p netip.Prefix) {
		if i := slices.IndexFunc(out, func(l OnLink) bool { return l.Interface == name }); i >= 0 {
			out[i].Addresses = append(out[i].Addresses, p)
			return
		}
		out = append(out, OnLink{name, []netip.Prefix{p}})
	}
	for _, p := range v.Addresses {
		add(v.linkOf(p.Addr()), p)
	}
	slices.SortFunc(out, func(a, b OnLink) int { return cmp.Compare(a.Interface, b.Interface) }) // "" is the entry's
	return out
}

func sameInterface(a, b OnLink) bool { return a.Interface == b.Interface }

// linkOf is the interface of an address that is on another than the entry's; "" where it is there.
func (v VIP) linkOf(a netip.Addr) string {
	for _, e := range v.Elsewhere {
		if e.Address == a && e.Interface != v.Interface {
			return e.Interface
		}
	}
	return ""
}

// elsewhere refuses what is no address of the entry, or is on two interfaces.
func (k vipValidator) elsewhere() {
	seen := map[netip.Addr]bool{}
	for _, e := range k.v.Elsewhere {
		switch {
		case !slices.ContainsFunc(k.v.Addresses, func(p netip.Prefix) bool { return p.Addr() == e.Address }):
			k.fail("elsewhere", "%s is not among the addresses, want one of them", e.Address)
		case seen[e.Address]:
			k.fail("elsewhere", "%s twice, want one interface for each address", e.Address)
		}
		seen[e.Address] = true
	}
	if len(k.v.Elsewhere) == 0 {
		return
	}
	if k.v.Interface == "" {
		k.fail("interface", "missing, want the interface of the election where addresses are elsewhere")
	}
	if k.v.Election == ElectionRaft {
		k.fail("elsewhere", "set with election raft, want election vrrp, or an entry for each interface with the same group")
	}
}

// addressLink reads ADDRESS=INTERFACE.
func addressLink() kind[Elsewhere] {
	name := sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(interfaceName) })
	return kind[Elsewhere]{
		name: "ADDRESS=INTERFACE", tags: []string{tagString}, schema: map[string]any{"type": "string", "pattern": `^[0-9A-Fa-f.:]+=[^\s/:]{1,15}$`},
		parse: func(s string) (Elsewhere, error) {
			text, link, ok := strings.Cut(s, "=")
			if !ok || !name().MatchString(link) {
				return Elsewhere{}, fmt.Errorf("%s, want ADDRESS=INTERFACE such as 10.77.0.100=eth1", show(s))
			}
			a, err := parseAddr(text)
			return Elsewhere{a, link}, err
		},
		format: func(e Elsewhere) string { return e.Address.String() + "=" + e.Interface },
	}
}

// interfaceName is what Linux takes for the name of one, or for a further name.
const interfaceName = `^(\.?[^\s/:.]|\.\.[^\s/:])[^\s/:]{0,124}$`
