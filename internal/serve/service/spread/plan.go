package spread

import (
	"cmp"
	"net"
	"net/netip"
	"slices"

	"github.com/keepvip/keepvip/election"
	"github.com/keepvip/keepvip/internal/base/code"
	"github.com/keepvip/keepvip/internal/kernel/spreadtables"
	"github.com/keepvip/keepvip/internal/serve/instance"
	"github.com/keepvip/keepvip/members/slots"
)

// self is this node as a member.
type self struct {
	place   instance.Place
	address netip.Addr // of the family that carries the election
	own     []netip.Addr
	mac     [6]byte
	weight  uint8
	holder  bool
	gets    bool // what is for the addresses comes here, as to their holder
	sends   bool // it sends on what it receives, and serves nothing
	witness bool // it votes, and the others do not spread over it
	never   bool // it never holds the addresses
}

// row is one member in a table.
type row struct {
	slots.Member
	spreadtables.MemberAt
	Why  string
	code code.Code // of Why, if the cause is one that has a code

	holder      bool
	lacksHolder bool // it says that its tables have none
	lost        bool // its host is dead for sure, and so are connections to it
	unheard     bool // it was never heard, and its host may live
}

// same tells whether two rows are shown alike, and make the same table.
func (r row) same(o row) bool {
	return r.Member == o.Member && r.Self == o.Self && r.Why == o.Why
}

// plan are the members of one table, in the order of the table: that of the list, or of their addresses. healthy is what this node says of
// its own ports, and why it is not, if it is not. Those behind the last that a table has room for are left out.
func plan(p portSet, r *roster, me self, healthy bool, why string) (rows, leftOut []row) {
	if !me.witness || slices.Contains(r.listed, me.address) {
		rows = []row{me.row(healthy, p.unhealthy(why))}
	}
	for _, m := range r.all {
		next := m.row(p)
		next.lost, next.unheard = m.dead && r.sure(m), !m.heard && !m.dead
		rows = append(rows, next)
	}
	slices.SortStableFunc(rows, func(a, b row) int {
		return cmp.Or(r.position(a.Address)-r.position(b.Address), a.Address.Compare(b.Address))
	})
	most := min(len(rows), slots.Most)
	return rows[:most], rows[most:]
}

func (s self) row(healthy bool, why string) row {
	out := row{
		Member: slots.Member{Address: s.address, Condition: slots.Fit, Weight: s.weight}, holder: s.holder,
		MemberAt: spreadtables.MemberAt{Addresses: s.own, MAC: macOf(s.mac), Self: true},
	}
	switch {
	case s.witness:
		out.Condition, out.Why = slots.Dead, "it is a witness, and serves nothing"
	case !healthy:
		out.Condition, out.Why = slots.Keeps, why
	case s.sends:
		out.Why = "it only sends on what it receives"
	case s.weight == 0:
		out.Why = "its weight is 0"
	}
	return out
}

func (m *member) row(p portSet) row {
	out := row{Member: slots.Member{Address: m.address, Weight: m.spread.Weight}, holder: m.holder, lacksHolder: m.spread.LacksHolder}
	if out.Condition, out.Why = m.condition(p); out.Why == saysRefused {
		out.code = code.NotReached
	}
	out.MemberAt = spreadtables.MemberAt{Addresses: m.spread.Own(m.address), MAC: macOf(m.spread.MAC)}
	return out
}

func macOf(b [6]byte) net.HardwareAddr {
	if b == ([6]byte{}) {
		return nil
	}
	return b[:]
}

// ownSpread is what this node tells the others about itself.
func ownSpread(tables []*table, me self, healthy map[string]bool) *election.Spread {
	out := &election.Spread{Weight: me.weight, MAC: me.mac, Address: me.address}
	for _, a := range me.own {
		switch {
		case a.Is4() != me.address.Is4():
			out.Other = a
		case a.Is6() && a != me.place.Source.WithZone(""):
			out.Serves = a
		}
	}
	for _, t := range tables {
		for _, p := range t.ports[:min(len(t.ports), election.MostSpreadPorts-len(out.Ports))] {
			out.Ports = append(out.Ports, election.SpreadPort{
				Protocol: p.Protocol.Number(), Port: p.Port, Healthy: healthy[t.check] && !t.ends() && t.refuses == "", Connections: uint32(t.counts[inKernel(p)]),
			})
		}
	}
	return out
}
