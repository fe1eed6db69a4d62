package replies

import (
	"cmp"
	"net/netip"
	"slices"

	"github.com/keepvip/keepvip/internal/config"
	"github.com/keepvip/keepvip/internal/kernel/link"
)

// Of looks at every address of an entry, on the links of this host, and says what is wrong with the first one. virtual are all addresses that are not this
// node's own.
func (l *Looker) Of(v config.VIP, links []link.Link, virtual []netip.Addr) (Lost, bool) {
	own := slices.Clone(links)
	for i := range own {
		own[i].Addresses = slices.DeleteFunc(slices.Clone(own[i].Addresses), func(a link.Address) bool {
			return slices.Contains(virtual, a.Prefix.Addr())
		})
	}
	for _, on := range v.Links() {
		place, err := link.Choose(own, on.Addresses[0].Addr(), cmp.Or(on.Interface, v.Interface))
		if err != nil {
			continue // said elsewhere
		}
		for _, p := range on.Addresses {
			if lost, ok := l.Look(p.Addr(), place.Index, own, has(links, p.Addr())); ok {
				return lost, true
			}
		}
	}
	return Lost{}, false
}

func has(links []link.Link, addr netip.Addr) bool {
	return slices.ContainsFunc(links, func(l link.Link) bool {
		return slices.ContainsFunc(l.Addresses, func(a link.Address) bool { return a.Prefix.Addr() == addr })
	})
}
