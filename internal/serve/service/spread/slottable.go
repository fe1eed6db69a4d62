package spread

import (
	"slices"
	"time"

	"github.com/keepvip/keepvip/members/slots"
)

// burst is for how long changes after a first one are taken for one change.
const burst = 3 * time.Second

// slotTable is a table of slots; a value that nobody changes. It asks those for a connection who had its slot in the
// table that it follows: of several changes in a row, as while one node after the other is reloaded, that is the one before the first of them. There are
// more connections from before than from the moments between. Whoever had the slot in between is asked where that one has it again.
type slotTable struct {
	slots   *slots.Table // nil: none yet
	follows *slots.Table // nil: none
	changed time.Time
}

// next is the table for these rows at now; the same one where nothing differs.
func (t slotTable) next(now time.Time, rows []row) slotTable {
	var members []slots.Member
	for _, r := range rows {
		members = append(members, r.Member)
	}
	lastResort(members)
	switch {
	case t.slots == nil:
		return slotTable{slots: slots.Make(members, nil)}
	case slices.Equal(members, t.slots.Members):
		return t
	}
	base, changed := t.slots, now
	if t.follows != nil && now.Sub(t.changed) < burst {
		base, changed = slots.Between(t.follows, t.slots), t.changed
	}
	return slotTable{slots: slots.Make(members, base), follows: base, changed: changed}
}

// lastResort has those serve that are not fit, where nobody is, and a member that serves nothing may be the one that receives: it could only
// refuse. Otherwise whoever receives a packet serves it then.
func lastResort(members []slots.Member) {
	sends := func(m slots.Member) bool { return m.Condition != slots.Dead && m.Weight == 0 }
	if slices.ContainsFunc(members, slots.Member.Owns) || !slices.ContainsFunc(members, sends) {
		return
	}
	for i := range members {
		if m := &members[i]; m.Condition == slots.Keeps && m.Weight > 0 {
			m.Condition = slots.Fit
		}
	}
}

// heldBy is the table of an address that is not spread: its holder has every connection. It is empty while nobody is known to hold it.
func heldBy(rows []row) slotTable {
	holder := slices.IndexFunc(rows, func(r row) bool { return r.holder })
	if holder < 0 {
		return slotTable{}
	}
	n := slots.Count(len(rows))
	return slotTable{slots: &slots.Table{
		Members: []slots.Member{{Address: rows[holder].Address, Condition: slots.Fit, Weight: 1}},
		Owner:   make([]uint8, n), Second: slices.Repeat([]uint8{slots.None}, n), // of the only member, which has index 0
	}}
}

// spread is the table by which what the holder has had alone begins to be spread. About its own slots the holder asks nobody: connections from
// before may be unknown to its connection tracking, and another member would end them.
func (t slotTable) spread(now time.Time, rows []row) slotTable {
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
func (t slotTable) like(o slotTable) bool {
	return t.slots != nil && o.slots != nil && slices.Equal(t.slots.Members, o.slots.Members) && slices.Equal(t.slots.Owner, o.slots.Owner) && slices.Equal(t.slots.Second, o.slots.Second)
}

// endingWith is the table of what is not spread any more: the holder has all that is new, and asks for everything else whoever had its
// slot. It stays as it is while nobody is known to hold the address.
func (t slotTable) endingWith(base slotTable, rows []row) slotTable {
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
	if t.slots != nil && slices.Equal(members, t.slots.Members) {
		return t
	}
	return slotTable{slots: slots.Make(members, base.slots)}
}
