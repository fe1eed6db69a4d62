package spread

import (
	"net/netip"
	"slices"
	"strconv"
	"time"

	"github.com/keepvip/keepvip/election"
	"github.com/keepvip/keepvip/internal/config"
	"github.com/keepvip/keepvip/internal/kernel/spreadtables"
	"github.com/keepvip/keepvip/members/slots"
)

// portSet is the ports that are healthy or not together: one check decides about them, and one service has all of them that are of TCP. They share a
// table.
type portSet struct {
	name  string // of the table
	check string // "": the node's fitness
	ports []config.SpreadPort
}

// portSets are those of an entry, in the order of its ports. The first of a check is named for it alone, and has the
// ports of UDP, too: nobody can look at these.
func (e *entry) portSets() []portSet {
	var out []portSet
	for _, p := range e.ports {
		i := slices.IndexFunc(out, func(o portSet) bool { return o.check == p.Check && (!p.TCP() || o.takes(p.Target)) })
		if i < 0 {
			name := e.Name
			if p.Check != "" {
				name += "." + p.Check
			}
			if slices.ContainsFunc(out, func(o portSet) bool { return o.check == p.Check }) {
				name += ".tcp_" + strconv.Itoa(int(p.Target)) // no check is called so
			}
			out, i = append(out, portSet{name: name, check: p.Check}), len(out)
		}
		out[i].ports = append(out[i].ports, p)
	}
	return out
}

// takes tells whether a port of TCP with that target belongs to the set.
func (p portSet) takes(target uint16) bool {
	i := slices.IndexFunc(p.ports, config.SpreadPort.TCP)
	return i < 0 || p.ports[i].Target == target
}

// without are the ports of p that are not among these.
func (p portSet) without(ports []config.SpreadPort) (out []config.SpreadPort) {
	for _, have := range p.ports {
		if !slices.ContainsFunc(ports, func(p config.SpreadPort) bool { return same(p, have) }) {
			out = append(out, have)
		}
	}
	return out
}

// same tells whether clients connect to the same.
func same(a, b config.SpreadPort) bool { return a.Protocol == b.Protocol && a.Port == b.Port }

// inKernel is the port as the kernel's tables have it.
func inKernel(p config.SpreadPort) spreadtables.Port {
	return spreadtables.Port{Protocol: p.Protocol.Number(), Port: p.Port, Target: p.Target}
}

// table is a table of slots for a set of ports, and what of it is in the kernel. It belongs to the service's goroutine.
type table struct {
	portSet
	plane   Plane // nil: none yet
	slots   slotTable
	known   []row                // the members, as known
	refuses string               // why connections to this node's own service come nowhere; empty: they arrive
	rows    []row                // as the kernel is to have them
	applied *spreadtables.Config // nil: nothing yet
	unsure  bool                 // something has failed since: nobody knows what the kernel has
	renewed time.Time
	looked  time.Time
	retry   time.Time // after a failure: not before
	failure error     // the newest one; nil: none

	count   int                       // of connections here
	counts  map[spreadtables.Port]int // the same by port
	counted time.Time                 // when that was
	to      map[netip.Addr]int        // connections by member: of masquerade all, else those of this host's own programs
	clients []election.Client         // of connections here
	swept   bool                      // of masquerade: what an earlier run has left was looked at
	ended   []netip.Addr              // members that are dead, to which connections were ended

	ending
}

// update has the table follow these rows. holderHasAll: until now the holder has served everything.
func (t *table) update(now time.Time, rows []row, holderHasAll bool) (changed bool) {
	before := t.slots.slots
	t.rows = rows
	switch held := heldBy(rows); {
	case t.ends():
		t.slots = t.slots.endingWith(t.base, rows)
	case holderHasAll && held.slots != nil:
		if next := held.spread(now, rows); !t.slots.like(next) {
			t.slots = next
		}
	default:
		t.slots = t.slots.next(now, rows)
	}
	return t.slots.slots != before
}

// goesOn is for how long the kernel does if this process does nothing more.
func (t *table) goesOn(now time.Time) time.Duration {
	if t.ends() {
		return max(t.until.Sub(now), time.Second)
	}
	return lifetime
}

// newDead are the members that have died since connections to members were ended last, and all that are dead. Those that this node masquerades are
// lost with a member that only does not spread the port, too, but not with one of which nobody knows yet what it spreads.
func (t *table) newDead(rows []row, masquerades bool) (fresh, all []netip.Addr) {
	for _, r := range rows {
		if r.lost || masquerades && r.Condition == slots.Dead && !r.unheard {
			all = append(all, r.Addresses...)
		}
	}
	fresh = slices.DeleteFunc(slices.Clone(all), func(a netip.Addr) bool { return slices.Contains(t.ended, a) })
	return fresh, all
}

// named is the table of that name; nil: there is none.
func named(tables []*table, name string) *table {
	if i := slices.IndexFunc(tables, func(t *table) bool { return t.name == name }); i >= 0 {
		return tables[i]
	}
	return nil
}

// slotsOf is the table of slots of whoever had the ports of s until now: connections to them are where that says.
func slotsOf(tables []*table, s portSet) slotTable {
	for _, t := range tables {
		if len(t.without(s.ports)) < len(t.ports) {
			return t.slots
		}
	}
	return slotTable{}
}
