package spread

import (
	"cmp"
	"net"
	"net/netip"
	"slices"
	"time"

	"github.com/keepvip/keepvip/election"
	"github.com/keepvip/keepvip/internal/slots"
	"github.com/keepvip/keepvip/internal/spreadtables"
)

// part is the ports that one check decides about. They share a table.
type part struct {
	name  string // of the table
	check string // "": the node's fitness
	ports []Port
}

// partsOf are the parts of a configuration, in the order of its ports.
func partsOf(c *Config) []part {
	var out []part
	for _, p := range c.Ports {
		i := slices.IndexFunc(out, func(o part) bool { return o.check == p.Check })
		if i < 0 {
			name := c.Name
			if p.Check != "" {
				name += "." + p.Check
			}
			out, i = append(out, part{name: name, check: p.Check}), len(out)
		}
		out[i].ports = append(out[i].ports, p)
	}
	return out
}

// self is this node as a member.
type self struct {
	address netip.Addr // of the family that carries the election
	own     []netip.Addr
	mac     [6]byte
	weight  uint8
	holder  bool
	sends   bool // it sends on what it receives, and serves nothing
	witness bool // it votes, and the others do not spread over it
}

// row is one member in a table.
type row struct {
	Address   netip.Addr
	Self      bool
	Condition slots.Condition
	Why       string
	Weight    uint8

	holder bool
	at     spreadtables.MemberAt
}

// same tells whether two rows are shown alike, and make the same table.
func (r row) same(o row) bool {
	return r.Address == o.Address && r.Self == o.Self && r.Condition == o.Condition && r.Why == o.Why && r.Weight == o.Weight
}

// plan are the members of one part, in the order of the table: that of the list, or of their addresses. healthy is what this node says of
// its own ports, and why it is not, if it is not. Those behind the last that a table has room for are left out.
func plan(p part, r *roster, me self, healthy bool, why string) (rows, leftOut []row) {
	if !me.witness || slices.Contains(r.listed, me.address) {
		rows = []row{me.row(healthy, p.unhealthy(why))}
	}
	for _, m := range r.all {
		rows = append(rows, m.row(p))
	}
	slices.SortStableFunc(rows, func(a, b row) int {
		return cmp.Or(r.place(a.Address)-r.place(b.Address), a.Address.Compare(b.Address))
	})
	most := min(len(rows), slots.Most)
	return rows[:most], rows[most:]
}

func (s self) row(healthy bool, why string) row {
	out := row{
		Address: s.address, Self: true, Condition: slots.Fit, Weight: s.weight, holder: s.holder,
		at: spreadtables.MemberAt{Addresses: s.own, MAC: macOf(s.mac), Self: true},
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

func (m *member) row(p part) row {
	out := row{Address: m.address, Weight: m.spread.Weight, holder: m.holder}
	out.Condition, out.Why = m.condition(p)
	out.at = spreadtables.MemberAt{Addresses: []netip.Addr{m.address}, MAC: macOf(m.spread.MAC)}
	if m.spread.Other.IsValid() {
		out.at.Addresses = append(out.at.Addresses, m.spread.Other)
	}
	return out
}

func macOf(b [6]byte) net.HardwareAddr {
	if b == ([6]byte{}) {
		return nil
	}
	return b[:]
}

// burst is for how long changes after a first one are taken for one change.
const burst = 3 * time.Second

// table is a table of slots with the members that it is about. It asks those for a connection who had its slot in the table that it follows:
// of several changes in a row, as while one node after the other is reloaded, that is the one before the first of them. There are
// more connections from before than from the moments between. Whoever had the slot in between is asked where that one has it again.
type table struct {
	slots   *slots.Table
	members []slots.Member

	follows *table // nil: none
	changed time.Time
}

// next is the table for these rows at now; the same one where nothing differs.
func (t table) next(now time.Time, rows []row) table {
	var members []slots.Member
	for _, r := range rows {
		members = append(members, slots.Member{Address: r.Address, Condition: r.Condition, Weight: r.Weight})
	}
	lastResort(members)
	if t.slots != nil && slices.Equal(members, t.members) {
		return t
	}
	if t.slots == nil {
		return table{slots: slots.Make(members, nil, nil), members: members}
	}
	base, changed := &table{slots: t.slots, members: t.members}, now
	if t.follows != nil && now.Sub(t.changed) < burst {
		base, changed = &table{}, t.changed
		base.slots, base.members = slots.Between(t.follows.slots, t.follows.members, t.slots, t.members)
	}
	return table{slots: slots.Make(members, base.slots, base.members), members: members, follows: base, changed: changed}
}

// lastResort has those serve that are not fit, where nobody is, and a member that serves nothing may be the one that receives: it could only
// refuse. Otherwise whoever receives a packet serves it then.
func lastResort(members []slots.Member) {
	fit := func(m slots.Member) bool { return m.Condition == slots.Fit && m.Weight > 0 }
	sends := func(m slots.Member) bool { return m.Condition != slots.Dead && m.Weight == 0 }
	if slices.ContainsFunc(members, fit) || !slices.ContainsFunc(members, sends) {
		return
	}
	for i := range members {
		if m := &members[i]; m.Condition == slots.Keeps && m.Weight > 0 {
			m.Condition = slots.Fit
		}
	}
}

// heldBy is the table of an address that is not spread: its holder has every connection. It is empty while nobody is known to hold it.
func heldBy(rows []row) table {
	holder := slices.IndexFunc(rows, func(r row) bool { return r.holder })
	if holder < 0 {
		return table{}
	}
	n := slots.Count(len(rows))
	return table{
		slots:   &slots.Table{Owner: make([]uint8, n), Second: slices.Repeat([]uint8{slots.None}, n)}, // of the only member, which has index 0
		members: []slots.Member{{Address: rows[holder].Address, Condition: slots.Fit, Weight: 1}},
	}
}

// spread is the table by which what the holder has had alone begins to be spread. About its own slots the holder asks nobody: connections from
// before may be unknown to its connection tracking, and another member would end them.
func (t table) spread(now time.Time, rows []row) table {
	next := t.next(now, rows)
	holder := slices.IndexFunc(rows, func(r row) bool { return r.holder })
	for slot, owner := range next.slots.Owner {
		if int(owner) == holder {
			next.slots.Second[slot] = slots.None
		}
	}
	return next
}

// like tells whether two send packets to the same members.
func (t table) like(o table) bool {
	return t.slots != nil && o.slots != nil && slices.Equal(t.members, o.members) && slices.Equal(t.slots.Owner, o.slots.Owner) && slices.Equal(t.slots.Second, o.slots.Second)
}

// word is what this node tells the others about itself.
func word(c *Config, me self, healthy map[string]bool, lanes []*lane) *election.Spread {
	out := &election.Spread{Weight: me.weight, MAC: me.mac, Address: me.address}
	for _, a := range me.own {
		if a.Is4() != me.address.Is4() {
			out.Other = a
		}
	}
	for _, l := range lanes {
		for _, p := range l.ports[:min(len(l.ports), election.MostSpreadPorts-len(out.Ports))] {
			out.Ports = append(out.Ports, election.SpreadPort{
				Protocol: p.Protocol, Port: p.Port, Healthy: healthy[l.check] && !l.ends(), Connections: uint32(l.counts[p.kernels()]),
			})
		}
	}
	return out
}

// kernels is the port as the tables have it.
func (p Port) kernels() spreadtables.Port {
	return spreadtables.Port{Protocol: p.Protocol, Port: p.Port, Target: p.Target}
}
