package daemon

import (
	"cmp"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"sync"

	"github.com/keepvip/keepvip/internal/base/code"
	"github.com/keepvip/keepvip/internal/kernel/link"
	"github.com/keepvip/keepvip/internal/serve/instance"
	"github.com/keepvip/keepvip/internal/serve/service/address"
)

// seen is what was last seen of this machine: its links with their addresses, and which of these are virtual. It asks nobody, and may be used
// from several goroutines. The zero value has seen nothing yet.
type seen struct {
	mu         sync.Mutex // guards what follows
	snapshot   []link.Link
	own        []link.Link // the snapshot without virtual addresses, whose number must not make place slow
	generation uint64      // counts changes of our own, so that a listing begun before one is not believed
	virtual    []netip.Addr
	subnets    map[netip.Addr]netip.Prefix // addresses that are written with one
}

func (s *seen) last() (uint64, []link.Link) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.generation, slices.Clone(s.snapshot)
}

func (s *seen) keep(links []link.Link, generation uint64) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.generation != generation {
		return false
	}
	s.snapshot, s.own = links, link.Without(links, s.virtual)
	return true
}

// setVirtual tells which addresses are virtual: none of them is ever an own address of the node.
func (s *seen) setVirtual(addrs []netip.Addr) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.virtual = addrs
	s.own = link.Without(s.snapshot, addrs)
}

func (s *seen) setSubnets(subnets map[netip.Addr]netip.Prefix) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.subnets = subnets
}

// has tells whether an address is on this node.
func (s *seen) has(addr netip.Addr) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return link.Have(s.snapshot, addr.WithZone(""))
}

// isVirtual tells whether the configuration in force has an address as a virtual one.
func (s *seen) isVirtual(a netip.Addr) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Contains(s.virtual, a)
}

func sameLink(a, b link.Link) bool {
	return a.Index == b.Index && a.Name == b.Name && a.Up == b.Up && a.Master == b.Master &&
		a.Carriers == b.Carriers && slices.Equal(a.MAC, b.MAC) && slices.Equal(a.AltNames, b.AltNames) && slices.EqualFunc(a.Addresses, b.Addresses, sameAddress)
}

// sameAddress leaves out what is left of the lifetime, and of our own addresses what only the kernel knows.
func sameAddress(a, b link.Address) bool {
	if a.Ours && b.Ours {
		return a.Prefix == b.Prefix
	}
	a.Valid, b.Valid = 0, 0
	return a == b
}

// where is what decides the place of an instance.
type where struct {
	addresses []netip.Prefix // the first one decides
	link      string         // the name of an interface; empty: the one whose subnet holds the first address
	peers     []netip.Addr   // unicast: the nodes' own addresses, this node's usually among them
	source    netip.Addr     // the own address; zero: the one that suits
}

// up tells whether the link at p works, and did all the time since it became p.
func (s *seen) up(p instance.Place) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.ContainsFunc(s.snapshot, func(l link.Link) bool { return l.Index == p.Index && l.Up && l.Carriers == p.Stay })
}

// place finds the interface and the own address there. The error says what is missing.
func (s *seen) place(w where) (instance.Place, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	first := w.addresses[0].Addr()
	l, err := link.Choose(s.own, first, w.link)
	if err != nil {
		if off := s.electsWithoutIPv6(w); off != nil {
			return instance.Place{}, off
		}
		// The address of the node itself is none of its own by the name of a virtual one.
		return instance.Place{}, code.With(code.InterfaceMissing, cmp.Or(link.NotOwn(s.snapshot, first, s.virtual), err))
	}
	if err := link.Suitable(l, w.addresses...); err != nil {
		return instance.Place{}, err
	}
	if !l.Up {
		return instance.Place{}, code.With(code.LinkDown, fmt.Errorf("%s is down", l.Name))
	}
	source, ok := s.source(l, first, w)
	if master := s.named(l.Master); !ok && master != "" {
		return instance.Place{}, code.With(code.PortOfAnother, fmt.Errorf("%s is a port of %s, which has the addresses of this host now: name %s as the interface", l.Name, master, master))
	}
	if !ok && w.source.IsValid() {
		return instance.Place{}, code.With(code.NoOwnAddress, fmt.Errorf("%s does not have %s yet, which vrrp.source wants", l.Name, w.source))
	}
	if off := s.electsWithoutIPv6(w); !ok && off != nil {
		return instance.Place{}, off
	}
	if !ok {
		return instance.Place{}, code.With(code.NoOwnAddress, fmt.Errorf("%s has no %s of its own yet", l.Name, familyWord(first)))
	}
	return instance.Place{Index: l.Index, Name: l.Name, Source: source, MAC: l.MAC.String(), Stay: l.Carriers}, nil
}

// bindsOfOthers are those of the addresses that are on the link of that index for good and that keepvip has not put there, and the link's name.
func (s *seen) bindsOfOthers(index int, addresses []netip.Prefix) (out []netip.Prefix, name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, l := range s.snapshot {
		for _, a := range l.Addresses {
			if l.Index == index && !a.Ours && a.Valid == 0 && slices.Contains(addresses, a.Prefix) {
				out, name = append(out, a.Prefix), l.Name
			}
		}
	}
	return out, name
}

// named is the name of the link of that index; empty where there is none. The caller holds the lock.
func (s *seen) named(index int) string {
	i := slices.IndexFunc(s.snapshot, func(l link.Link) bool { return l.Index == index })
	if index == 0 || i < 0 {
		return ""
	}
	return s.snapshot[i].Name
}

// source is the own address: the one that is asked for, or with a list of peers the one of them that is on the link.
func (s *seen) source(l link.Link, like netip.Addr, w where) (netip.Addr, bool) {
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

// bound lists those of the addresses that are on a link, as last seen.
func (s *seen) bound(addresses []netip.Prefix) []address.Binding {
	wanted := make(map[netip.Addr]bool, len(addresses))
	for _, p := range addresses {
		wanted[p.Addr()] = true
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []address.Binding
	for _, l := range s.snapshot {
		for _, a := range l.Addresses {
			if wanted[a.Prefix.Addr()] {
				out = append(out, address.Binding{Index: l.Index, Prefix: a.Prefix})
			}
		}
	}
	return out
}

func (s *seen) ownAddresses() []netip.Addr {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []netip.Addr
	for _, l := range s.snapshot {
		for _, a := range l.Addresses {
			out = append(out, a.Prefix.Addr())
		}
	}
	return out
}

// note keeps the snapshot true to what this process has just done.
func (s *seen) note(index int, addresses []netip.Prefix, bound bool) {
	touched := make(map[netip.Prefix]bool, len(addresses))
	for _, p := range addresses {
		touched[p] = true
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	i := slices.IndexFunc(s.snapshot, func(l link.Link) bool { return l.Index == index })
	if bound && i >= 0 && haveAll(s.snapshot[i], touched) {
		return // a renewal
	}
	s.generation++
	if i < 0 {
		return
	}
	l := &s.snapshot[i]
	l.Addresses = slices.DeleteFunc(slices.Clone(l.Addresses), func(a link.Address) bool { return touched[a.Prefix] })
	if !bound {
		return
	}
	for _, p := range addresses {
		l.Addresses = append(l.Addresses, link.Address{Prefix: p, Ours: true})
	}
}

// haveAll tells whether all of these addresses are on l as ours.
func haveAll(l link.Link, prefixes map[netip.Prefix]bool) bool {
	n := 0
	for _, a := range l.Addresses {
		if a.Ours && prefixes[a.Prefix] {
			n++
		}
	}
	return n == len(prefixes)
}

func (s *seen) ownMAC(mac net.HardwareAddr) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.ContainsFunc(s.snapshot, func(l link.Link) bool { return slices.Equal(l.MAC, mac) })
}

// strays lists addresses that an earlier run has bound and that the configuration does not know.
func (s *seen) strays() []address.Binding {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []address.Binding
	for _, l := range s.snapshot {
		for _, a := range l.Addresses {
			if a.Ours && !slices.Contains(s.virtual, a.Prefix.Addr()) {
				out = append(out, address.Binding{Index: l.Index, Prefix: a.Prefix})
			}
		}
	}
	return out
}

// leftovers lists the virtual addresses on a link, and on those that a virtual MAC has there, as last seen.
func (s *seen) leftovers(index int) []netip.Addr {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []netip.Addr
	for _, l := range s.snapshot {
		for _, a := range l.Addresses {
			if (l.Index == index || l.OursVirtual() && l.Below == index) && slices.Contains(s.virtual, a.Prefix.Addr()) {
				out = append(out, a.Prefix.Addr())
			}
		}
	}
	return out
}
