package spread

import (
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/keepvip/keepvip/internal/slots"
)

const (
	// EndsWithin is for how long connections go on at most after they are not spread any more.
	EndsWithin = lifetime
	// leastEnding is for how long they do at least: what members say of their connections may be as old as that.
	leastEnding = 3 * countEvery
	// endsSuffix is behind the name of a table whose ports are not spread any more. No check has such a name.
	endsSuffix = ".-ends"
)

// takesNone is why a member gets nothing of what ends.
const takesNone = "it is not spread any more"

// Ending is a port that is not spread any more, while its connections go on.
type Ending struct {
	Port
	Until time.Time // at most; zero: it is spread yet
}

// ending is what a lane has to know whose ports are not spread any more. New connections are the holder's, as without spreading.
type ending struct {
	begun, until time.Time // until is the zero Time of a lane whose ports are spread
	base         table     // who had which slot when it began
}

func (e ending) ends() bool { return !e.until.IsZero() }

// follow has the lanes be those of the configuration. Those that go on are the same as before, and what is not spread any more ends in lanes
// of its own. It returns those that are none any more.
func (v *server) follow(now time.Time) (gone []*lane) {
	before := v.lanes
	var lanes []*lane
	parts := partsOf(&v.cfg)
	for _, p := range parts {
		l := named(before, p.name)
		if l == nil {
			l = &lane{table: tableOf(before, p)}
		}
		lanes = append(lanes, l)
	}
	ending := v.ending(now)
	for i, p := range parts {
		lanes[i].part, lanes[i].again = p, time.Time{}
	}
	v.lanes = append(lanes, ending...)
	return slices.DeleteFunc(before, func(l *lane) bool { return slices.Contains(v.lanes, l) })
}

// ending are the lanes of what is not spread any more. Without a term there are none: nobody knows where the address is.
func (v *server) ending(now time.Time) (out []*lane) {
	if v.elector == nil {
		return nil
	}
	for _, l := range v.lanes {
		left := l.without(v.cfg.Ports)
		if len(left) == 0 || l.applied == nil || l.applied.Masquerade { // these end at once
			continue
		}
		e := l
		if !l.ends() {
			if e = named(v.lanes, l.name+endsSuffix); e == nil {
				e = &lane{table: l.table}
			}
			left = append(e.without(v.cfg.Ports), left...)
			e.ending = ending{begun: now, until: now.Add(EndsWithin), base: l.table}
		}
		e.part = part{name: strings.TrimSuffix(l.name, endsSuffix) + endsSuffix, check: l.check, ports: left}
		if !slices.Contains(out, e) {
			out = append(out, e)
		}
	}
	return out
}

// named is the lane with that table; nil: there is none.
func named(lanes []*lane, name string) *lane {
	if i := slices.IndexFunc(lanes, func(l *lane) bool { return l.name == name }); i >= 0 {
		return lanes[i]
	}
	return nil
}

// tableOf is the table of whoever had the ports of p until now: connections to them are where that says.
func tableOf(lanes []*lane, p part) table {
	for _, l := range lanes {
		if len(l.without(p.ports)) < len(l.ports) {
			return l.table
		}
	}
	return table{}
}

// without are the ports of p that are not among these.
func (p part) without(ports []Port) (out []Port) {
	for _, have := range p.ports {
		if !slices.ContainsFunc(ports, have.same) {
			out = append(out, have)
		}
	}
	return out
}

// same tells whether clients connect to the same.
func (p Port) same(o Port) bool { return p.Protocol == o.Protocol && p.Port == o.Port }

// endingWith is the table of what is not spread any more: the holder has all that is new, and asks for everything else whoever had its
// slot. It stays as it is while nobody is known to hold the address.
func (t table) endingWith(base table, rows []row) table {
	if !slices.ContainsFunc(rows, func(r row) bool { return r.holder }) {
		return t
	}
	var members []slots.Member
	for _, r := range rows {
		m := slots.Member{Address: r.Address, Condition: min(r.Condition, slots.Keeps)}
		if r.holder {
			m.Condition, m.Weight = slots.Fit, 1
		}
		members = append(members, m)
	}
	if t.slots != nil && slices.Equal(members, t.members) {
		return t
	}
	return table{slots: slots.Make(members, base.slots, base.members), members: members}
}

// finish takes away what has ended.
func (v *server) finish(now time.Time) {
	before := len(v.lanes)
	v.lanes = slices.DeleteFunc(v.lanes, func(l *lane) bool {
		if !l.ends() || now.Before(l.until) && (v.connected(l) || now.Before(l.begun.Add(leastEnding))) {
			return false
		}
		v.log.Info("connections that were spread have ended", "table", l.name, "left", l.count)
		v.shut(l)
		return true
	})
	if len(v.lanes) < before {
		v.show()
	}
}

// rest ends a service that has nothing to do any more, and has been told of nothing that it may have to do.
func (v *server) rest() {
	if v.closed || len(v.lanes) > 0 || !v.out.post.closeEmpty() {
		return
	}
	v.end()
	v.serveFollowers(nil, netip.Addr{})
	v.cancel()
	v.closed = true
}

// endings are the ports of all lanes, each with its end.
func (v *server) endings() (out []Ending) {
	if v.cfg.Masquerade {
		return nil
	}
	for _, l := range v.lanes {
		for _, p := range l.ports {
			out = append(out, Ending{p, l.until})
		}
	}
	return out
}

// connected tells whether anybody has connections of a lane, as far as they say.
func (v *server) connected(l *lane) bool {
	if l.count > 0 || !l.counted.After(l.begun) {
		return true
	}
	return slices.ContainsFunc(v.roster.all, func(m *member) bool { return !m.dead && m.connections(l.ports) > 0 })
}

// connections is how many the member has to these ports, as it has said last.
func (m *member) connections(to []Port) (n uint32) {
	for _, p := range to {
		if said := m.port(p); said != nil {
			n += said.Connections
		}
	}
	return n
}
