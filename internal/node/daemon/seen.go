package daemon

import (
	"net/netip"
	"slices"
	"sync"

	"github.com/keepvip/keepvip/internal/kernel/link"
)

// seen keeps what was last seen of this machine, and keeps it true to what this process does there. It asks nobody, and may be used from several
// goroutines. The zero value has seen nothing yet.
type seen struct {
	mu         sync.Mutex // guards what follows
	links      hostLinks  // another value after each change: others still look at this one
	generation uint64     // counts changes of our own, so that a listing begun before one is not believed
}

// now is what was last seen.
func (s *seen) now() hostLinks {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.links
}

func (s *seen) last() (uint64, []link.Link) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.generation, s.links.all
}

func (s *seen) keep(links []link.Link, generation uint64) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.generation != generation {
		return false
	}
	s.links.use(links, s.links.virtual)
	return true
}

// setVirtual tells which addresses are virtual: none of them is ever an own address of the node.
func (s *seen) setVirtual(addrs []netip.Addr) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.links.use(s.links.all, addrs)
}

func (s *seen) setSubnets(subnets map[netip.Addr]netip.Prefix) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.links.subnets = subnets
}

// note keeps it true to what this process has just done. It comes after each renewal of each entry.
func (s *seen) note(index int, addresses []netip.Prefix, bound bool) {
	asked := make(map[netip.Prefix]bool, len(addresses))
	for _, p := range addresses {
		if bound {
			p = once(p)
		}
		asked[p] = true
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	i := slices.IndexFunc(s.links.all, func(l link.Link) bool { return l.Index == index })
	if bound && i >= 0 && haveAll(s.links.all[i], asked) {
		return // a renewal
	}
	s.generation++
	if i < 0 {
		return
	}
	s.links.all = slices.Clone(s.links.all)
	l := &s.links.all[i]
	l.Addresses = slices.Clone(l.Addresses)
	if !bound {
		l.Addresses = slices.DeleteFunc(l.Addresses, func(a link.Address) bool { return asked[a.Prefix] })
		return
	}
	for i, a := range l.Addresses {
		if p := once(a.Prefix); asked[p] {
			l.Addresses[i] = link.Address{Prefix: a.Prefix, Ours: true}
			delete(asked, p)
		}
	}
	for _, p := range addresses {
		if asked[once(p)] {
			l.Addresses = append(l.Addresses, link.Address{Prefix: p, Ours: true})
			delete(asked, once(p))
		}
	}
}

// once is the same for all that the kernel has once on a link: an IPv6 address goes on with its prefix length, whichever is
// asked for.
func once(p netip.Prefix) netip.Prefix {
	if p.Addr().Is6() {
		return netip.PrefixFrom(p.Addr(), p.Addr().BitLen())
	}
	return p
}

// haveAll tells whether all of these are on l as ours, each as once has it.
func haveAll(l link.Link, asked map[netip.Prefix]bool) bool {
	n := 0
	for _, a := range l.Addresses {
		if a.Ours && asked[once(a.Prefix)] {
			n++
		}
	}
	return n == len(asked)
}

// put adds a link that this process has just made. A listing may have seen it half made meanwhile.
func (s *seen) put(l link.Link) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.generation++
	s.links.use(append(without(s.links.all, l.Index), l), s.links.virtual)
}

// remove takes a link out that this process has just deleted.
func (s *seen) remove(index int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.generation++
	s.links.use(without(s.links.all, index), s.links.virtual)
}

// without are the links but the one of that index.
func without(links []link.Link, index int) []link.Link {
	return slices.DeleteFunc(slices.Clone(links), func(l link.Link) bool { return l.Index == index })
}

// turn keeps true whether a link is up that this process has just set so.
func (s *seen) turn(index int, up bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.generation++
	s.links.all = slices.Clone(s.links.all)
	for i, l := range s.links.all {
		if l.Index == index {
			s.links.all[i].Up = up
		}
	}
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
