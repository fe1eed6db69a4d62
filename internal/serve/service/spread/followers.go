package spread

import (
	"net/netip"
	"slices"
	"time"

	"github.com/keepvip/keepvip/members/slots"
	"github.com/keepvip/keepvip/members/subscription"
)

// followers tell hosts that are no members about an entry. It belongs to the service's goroutine, and does not wait for anybody.
type followers struct {
	to    Followers  // nil: nobody is told
	group netip.Addr // by which they call the entry
}

// serve lets followers ask about the entry of that group from now on; the zero Addr: about none.
func (f *followers) serve(to Followers, group netip.Addr) {
	if f.group == group {
		return
	}
	if f.to != nil {
		f.to.Drop(f.group)
	}
	if f.to, f.group = to, group; to != nil {
		to.Serve(group)
	}
}

// tell lets followers know what can be expected of the members, if there are any. They reach members by the members' own addresses, and need no
// table here.
func (f *followers) tell(report func() *subscription.Report) {
	if f.to != nil && f.to.Wanted(f.group) {
		f.to.Tell(f.group, report())
	}
}

// withdraw has this node tell followers nothing more.
func (f *followers) withdraw() {
	if f.to != nil {
		f.to.Tell(f.group, nil)
	}
}

// list are those that this node tells, as an operator sees them.
func (f *followers) list() []subscription.Subscriber {
	if f.to == nil {
		return nil
	}
	return f.to.Subscribers(f.group)
}

// room is how many followers there is room for, and whether all of it is taken.
func (f *followers) room() (most int, full bool) {
	if f.to == nil {
		return 0, false
	}
	taken, most := f.to.Room(f.group)
	return most, taken >= most
}

// left tells whether a follower has connections here, or has not counted them since. One from which this node's kernel knows no connection has none,
// whatever it says: the followers' key is good for asking, and holds up no drain. doubted are those that say otherwise.
func (f *followers) left(since time.Time, direct map[netip.Addr]int) (waits bool, doubted []netip.Addr) {
	if f.to == nil {
		return false, nil
	}
	for _, s := range f.to.Subscribers(f.group) {
		says := s.Connections != nil && *s.Connections > 0
		switch {
		case !says && s.Connections != nil && !s.Counted.Before(since):
		case direct == nil || mayCome(direct, s.Address):
			waits = true
		case says:
			doubted = append(doubted, s.Address)
		}
	}
	return waits, doubted
}

// mayCome tells whether a host may have made any of these connections: it asks by its address of one family, and that of the other is not known.
func mayCome(direct map[netip.Addr]int, from netip.Addr) bool {
	for a := range direct {
		if a == from.WithZone("") || a.Is4() != from.Is4() {
			return true
		}
	}
	return false
}

// reportOf joins the rows of all tables: each has other ports of the same members. node is this node's name. Of two members that serve at one address
// the first one counts, or this node: no list has an address twice.
func reportOf(now time.Time, tables []*table, members *roster, node string) *subscription.Report {
	r := &subscription.Report{Every: max(members.interval, leastEvery)}
	known := map[netip.Addr]*member{}
	for _, m := range members.all {
		known[m.address] = m
	}
	index := map[netip.Addr]int{} // by where members serve
	by := map[netip.Addr]netip.Addr{}
	for _, t := range tables {
		for _, row := range t.known {
			if row.Self {
				by[servesAt(row.Address, row.Addresses)] = row.Address
			}
		}
	}
	for _, t := range tables {
		for _, row := range t.known {
			m := known[row.Address]
			at := servesAt(row.Address, row.Addresses)
			if first, taken := by[at]; taken && first != row.Address {
				continue
			}
			by[at] = row.Address
			i, seen := index[at]
			if !seen {
				i = len(r.Members)
				index[at] = i
				every, name := r.Every, node
				if m != nil {
					every, name = members.every(m), m.node
				}
				r.Members = append(r.Members, row.shown(now, m, name, every))
			}
			for _, p := range t.ports {
				r.Members[i].Ports = append(r.Members[i].Ports, subscription.Port{Protocol: p.Protocol.Number(), Port: p.Port, Condition: row.expected(m)})
			}
		}
	}
	return r
}

// shown is a member without its ports, which says something every so often; m is nil for this node.
func (r row) shown(now time.Time, m *member, name string, every time.Duration) subscription.Member {
	out := subscription.Member{
		Address: servesAt(r.Address, r.Addresses), Node: subscription.NodeName(name), Self: r.Self, Weight: r.Weight, Lifetime: every * silentAfter / 10,
	}
	if !r.Self {
		out.Age = subscription.Never
		if m != nil && !m.last.IsZero() {
			out.Age = min(now.Sub(m.last), subscription.Never)
		}
	}
	for _, a := range r.Addresses {
		if a.Is4() != r.Address.Is4() {
			out.Other = a
		}
	}
	return out
}

// servesAt is where the member of that address serves the family that carries the election, of its own addresses. A link-local address, by which
// members may know it, is none that another host can use.
func servesAt(address netip.Addr, own []netip.Addr) netip.Addr {
	if i := slices.IndexFunc(own, func(a netip.Addr) bool { return a.Is4() == address.Is4() }); i >= 0 {
		return own[i]
	}
	return address
}

// expected is what followers are told. Connections to a member that only does not spread a port are not lost, and those to one that may live are not,
// either: also where it was never heard, as while two nodes are restarted at once.
func (r row) expected(m *member) slots.Condition {
	if r.Condition == slots.Dead && m != nil && !r.lost {
		return slots.Keeps
	}
	return r.Condition
}
