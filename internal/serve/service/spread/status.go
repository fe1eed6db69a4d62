package spread

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/keepvip/keepvip/internal/kernel/conntrack"
	"github.com/keepvip/keepvip/internal/serve/instance"
	"github.com/keepvip/keepvip/members/slots"
)

// noLoose is why the second chance is not all that it should be.
const noLoose = "net.netfilter.nf_conntrack_tcp_loose is 0: set it to 1, or clients of a member that dies are not told"

// status is what an operator sees.
func (v *server) status() *instance.SpreadStatus {
	out := &instance.SpreadStatus{Via: instance.SpreadDirect, Problem: v.problem, Members: []instance.SpreadMember{}, Tables: []instance.SpreadTable{}}
	if v.cfg.masquerades() {
		out.Via = instance.SpreadMasquerade
		out.Problem = cmp.Or(out.Problem, v.kernel.forwarding.problem)
	}
	if len(v.cfg.ports) == 0 {
		out.Via = instance.SpreadOff
	}
	out.Followers = v.followers.list()
	out.FollowerPlaces, out.FollowersFull = v.followers.room()
	out.Newcomers = slices.Clone(v.newcomers.shown)
	for _, r := range v.notes.leftOut {
		out.LeftOut = append(out.LeftOut, v.member(r))
	}
	if out.Problem == "" && v.elector != nil && v.last.Before(v.settled) {
		out.Problem = "the members are not known yet"
	}
	if v.elector == nil && out.Problem == "" {
		out.Problem = "not in the election"
	}
	for i, t := range v.kernel.tables {
		for _, r := range t.rows {
			if i == 0 {
				out.Members = append(out.Members, v.member(r))
			}
		}
		out.Tables = append(out.Tables, t.status())
	}
	if len(v.kernel.tables) > 0 && v.kernel.tables[0].applied != nil && !v.cfg.masquerades() {
		a := v.kernel.tables[0].plane.Abilities()
		out.SecondChance, out.Ingress = a.SecondChance, a.Ingress
		if !a.SecondChance {
			out.WithoutIt = noLoose
		}
	}
	return out
}

// withRoom adds whether the kernel has room for connections at this moment: nothing tells of it when that changes.
func withRoom(shown *instance.SpreadStatus, tracked, most int) *instance.SpreadStatus {
	if shown == nil || !conntrack.AlmostFull(tracked, most) {
		return shown
	}
	out := *shown
	out.TrackingFull = fmt.Sprintf("the kernel tracks %d connections, of %d at most, and drops new ones then: sysctl -w net.netfilter.nf_conntrack_max=%d", tracked, most, 2*most)
	return &out
}

func (v *server) member(r row) instance.SpreadMember {
	m := instance.SpreadMember{Address: r.Address, Self: r.Self, Holder: r.holder, Weight: r.Weight}
	if v.cfg.masquerades() {
		m.Connections = v.kernel.translated(r)
	}
	if r.Self {
		m.Node = v.node
		if v.cfg.masquerades() {
			return m
		}
		for _, t := range v.kernel.tables {
			m.Connections += uint32(t.count)
		}
		return m
	}
	if known := v.roster.find(r.Address, false); known != nil {
		m.Node = known.node
		if v.cfg.masquerades() || known.dead {
			return m
		}
		for _, p := range known.spread.Ports {
			m.Connections += p.Connections
		}
	}
	return m
}

// conditionText are the words of the status.
func conditionText(c slots.Condition) string {
	switch c {
	case slots.Fit:
		return "fit"
	case slots.Keeps:
		return "keeps"
	}
	return "dead"
}

func (t *table) status() instance.SpreadTable {
	out := instance.SpreadTable{Check: t.check, Ends: t.until, Ports: t.ports, Shares: []instance.SpreadShare{}}
	var owned []int
	if t.slots.slots != nil {
		out.Slots = len(t.slots.slots.Owner)
		owned, out.Nobody = t.slots.slots.Owned(len(t.rows))
	}
	for i, r := range t.rows {
		share := instance.SpreadShare{Address: r.Address, Condition: conditionText(r.Condition), Why: r.Why, Code: r.code}
		if r.Condition == slots.Fit {
			out.Fit++
		}
		if owned != nil {
			share.Slots, share.Share = owned[i], float64(owned[i])/float64(out.Slots)
		}
		out.Shares = append(out.Shares, share)
	}
	return out
}
