package spread

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/keepvip/keepvip/internal/kernel/spreadtables"
)

// forwarding is what masquerading wants of this host: that it forwards, and its own addresses toward the members. It belongs to the service's goroutine.
// The zero value knows nothing yet.
type forwarding struct {
	looked       time.Time
	ipv4, ipv6   bool                      // it forwards
	problem      string                    // empty: it does all that is wanted
	sources      map[netip.Addr]netip.Addr // by the member's address; nil: something of this host may have changed since
	sourcesSince time.Time
}

// look looks now and then whether this host forwards what these addresses need.
func (f *forwarding) look(now time.Time, addresses []netip.Addr, forwards func(ipv4 bool) (setting string, does bool)) {
	if now.Sub(f.looked) < lookEvery {
		return
	}
	f.looked, f.problem = now, ""
	var off []string
	look := func(ipv4 bool) bool {
		if !slices.ContainsFunc(addresses, func(a netip.Addr) bool { return a.Is4() == ipv4 }) {
			return true
		}
		setting, does := forwards(ipv4)
		if !does {
			off = append(off, setting)
		}
		return does
	}
	f.ipv4, f.ipv6 = look(true), look(false)
	if len(off) > 0 {
		f.problem = fmt.Sprintf("this host does not forward (%s is 0): as the holder it serves all by itself; set it to 1, and let the packet filter pass what is forwarded",
			strings.Join(off, " and "))
	}
}

// complete says of members from which own address connections to them come. To one that has none this host does not forward; its share is this node's.
func (f *forwarding) complete(now time.Time, members []spreadtables.MemberAt, toward func(member netip.Addr) netip.Addr) {
	if f.sources == nil || now.Sub(f.sourcesSince) >= renewEvery {
		f.sources, f.sourcesSince = map[netip.Addr]netip.Addr{}, now
	}
	for i, m := range members {
		if m.Self {
			continue
		}
		for _, a := range m.Addresses {
			if a.Is4() && !f.ipv4 || a.Is6() && !f.ipv6 {
				continue
			}
			from, known := f.sources[a]
			if !known {
				from = toward(a)
				f.sources[a] = from
			}
			if from.IsValid() {
				members[i].Sources = append(members[i].Sources, from)
			}
		}
	}
}
