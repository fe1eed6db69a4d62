package spread

import (
	"net/netip"
	"time"

	"github.com/keepvip/keepvip/internal/instance"
	"github.com/keepvip/keepvip/internal/slots"
	"github.com/keepvip/keepvip/internal/subscription"
)

// group is what followers call the entry.
func (c *Config) group() netip.Addr { return c.Addresses[0] }

// serveFollowers lets followers ask about the entry as it is from now on; a zero group: about none.
func (v *server) serveFollowers(f Followers, group netip.Addr) {
	if v.served == group {
		return
	}
	if v.followers != nil {
		v.followers.Drop(v.served)
	}
	if v.followers, v.served = f, group; f != nil {
		f.Serve(group)
	}
}

// tellFollowers lets followers know what can be expected of the members, if there are any.
func (v *server) tellFollowers() {
	if f := v.followers; f != nil && f.Wanted(v.served) {
		f.Tell(v.served, v.report())
	}
}

// subscribed are the followers that this node tells, as an operator sees them.
func (v *server) subscribed() (out []instance.SpreadFollower) {
	if v.followers == nil {
		return nil
	}
	for _, s := range v.followers.Subscribers(v.served) {
		out = append(out, instance.SpreadFollower(s))
	}
	return out
}

// hushFollowers has this node tell followers nothing more.
func (v *server) hushFollowers() {
	if f := v.followers; f != nil {
		f.Tell(v.served, nil)
	}
}

// report joins the rows of all lanes: each has other ports of the same members.
func (v *server) report() *subscription.Report {
	r := &subscription.Report{Every: max(v.cfg.Interval, leastEvery)}
	nodes := v.nodes()
	index := map[netip.Addr]int{}
	for _, l := range v.lanes {
		for _, row := range l.rows {
			i, known := index[row.Address]
			if !known {
				i = len(r.Members)
				index[row.Address] = i
				r.Members = append(r.Members, v.sighting(row, nodes[row.Address], r.Every))
			}
			m := &r.Members[i]
			for _, p := range l.ports {
				m.Ports = append(m.Ports, subscription.Port{Protocol: p.Protocol, Port: p.Port, Condition: row.expected(nodes[row.Address])})
			}
		}
	}
	return r
}

// sighting is a member without its ports; m is nil for this node.
func (v *server) sighting(r row, m *member, every time.Duration) subscription.Sighting {
	out := subscription.Sighting{Member: subscription.Member{Address: r.Address, Self: r.Self, Weight: r.Weight}}
	name := v.node
	if m != nil {
		name, every, out.Heard = m.node, v.roster.every(m), m.last
	}
	out.Node, out.Lifetime = subscription.NodeName(name), every*silentAfter/10
	for _, a := range r.at.Addresses {
		if a.Is4() != r.Address.Is4() {
			out.Other = a
		}
	}
	return out
}

// expected is what followers are told. Connections to a member that only does not spread a port are not lost.
func (r row) expected(m *member) slots.Condition {
	if r.Condition == slots.Dead && m != nil && m.heard && !m.dead {
		return slots.Keeps
	}
	return r.Condition
}
