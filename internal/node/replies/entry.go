package replies

import (
	"cmp"
	"net/netip"

	"github.com/keepvip/keepvip/internal/config"
	"github.com/keepvip/keepvip/internal/kernel/link"
)

// Of looks at every address of an entry, and says what is wrong with the first one. own are the links of this host with its own addresses alone; bound
// tells whether an address is here.
func (l *Looker) Of(v *config.VIP, own []link.Link, bound func(netip.Addr) bool) (Lost, bool) {
	for _, on := range v.Links() {
		place, err := link.Choose(own, on.Addresses[0].Addr(), cmp.Or(on.Interface, v.Interface))
		if err != nil {
			continue // said elsewhere
		}
		for _, p := range on.Addresses {
			if lost, ok := l.look(p.Addr(), place.Index, own, bound(p.Addr())); ok {
				return lost, true
			}
		}
	}
	return Lost{}, false
}
