package spread

import (
	"net/netip"
	"time"

	"github.com/keepvip/keepvip/internal/base/code"
	"github.com/keepvip/keepvip/internal/serve/instance"
	"github.com/keepvip/keepvip/members/slots"
)

// servicesOfMembers are the services of the members that could get connections, and those of this node, and how often they are looked at. The holder sends
// connections there, so it looks more often.
func servicesOfMembers(tables []*table, me self) map[netip.AddrPort]time.Duration {
	services := map[netip.AddrPort]time.Duration{}
	for _, t := range tables {
		if t.ends() {
			continue
		}
		for _, r := range t.known {
			every := lookSeldom
			switch {
			case r.Condition == slots.Dead || r.Weight == 0:
				continue
			case r.Self:
				every = lookOwn
			case me.gets:
				every = lookOften
			}
			for _, at := range t.services(r, me.place) {
				services[at] = every
			}
		}
	}
	return services
}

// servicesOfBackends are all services of the backends: what a backend is asked is about one of them.
func servicesOfBackends(tables []*table, rows []row, p instance.Place, holder bool) map[netip.AddrPort]time.Duration {
	services, every := map[netip.AddrPort]time.Duration{}, lookSeldom
	if holder {
		every = lookOften
	}
	for _, t := range tables {
		for _, r := range rows {
			if t.ends() || r.Condition == slots.Dead || r.Weight == 0 {
				continue
			}
			for _, at := range t.services(r, p) {
				services[at] = every
			}
		}
	}
	return services
}

// looked takes in a look at a service, and tells whether anything is to be done about it.
func (v *server) looked(now time.Time, l looked) bool {
	news, turned := v.reach.take(now, l)
	if turned {
		v.notes.reached(now, l.at, v.reach.all[l.at].why)
	}
	return news
}

// codeOwn gives this node's row of a table the code of its refusal.
func (t *table) codeOwn() {
	for i := range t.known {
		if r := &t.known[i]; r.Self && t.refuses != "" && r.Why == t.refuses {
			r.code = code.NotReached
		}
	}
}
