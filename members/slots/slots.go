// Package slots decides which member of a group gets which slot. A slot is one of a fixed number of values that packets are hashed to
// by their source address and port, so that each connection has one slot for as long as it lives.
//
// Every slot has an order of its own of all members, and belongs to the first fit one in it. So nobody has to agree on anything: the
// same members make the same table on every node, whoever holds the address.
//
//   - Even: of members with equal weights, each fit one has the same number of slots, exactly, whichever of them are fit.
//   - Stable: a member that is no longer fit loses its slots, and no other slot moves. A member that is added at the end gets its
//     share, and no other slot moves. With unequal weights some others do.
//   - Every connection is found: where a slot has got another owner, the table says who had it before (Second), and a packet of a
//     connection that the owner does not know goes there. Whom it goes to then does not depend on the past (Next): all other members that
//     are not dead get it, one after the other, until one of them knows it.
//
// The package starts no goroutine, and knows neither packets nor a kernel.
package slots

import (
	"net/netip"
	"slices"
)

const (
	// None is no member, in place of an index.
	None uint8 = 255
	// Most is how many members a table may have. Those behind them own nothing.
	Most = 7
)

// Condition is what a member can do for connections.
type Condition uint8

const (
	// Dead gets no packets.
	Dead Condition = iota
	// Keeps goes on with the connections that it has, and gets no new ones: it is unhealthy, drains, or is held.
	Keeps
	// Fit gets new connections.
	Fit
)

// Member is one of those that share the connections. Its Address names it, also in a later table in which it has another index.
type Member struct {
	Address   netip.Addr
	Condition Condition
	// Weight is its share of the new connections, relative to that of the others; 0 gets none.
	Weight uint8
}

// Owns reports whether a member may own slots, and so gets new connections.
func (m Member) Owns() bool { return m.Condition == Fit && m.Weight > 0 }

// Table says for each slot who gets its packets. Owner and Second have the same length, which is a multiple of Count(members); a value is an
// index into Members, or None. A slot is the upper part of a hash: hash * len / 2^32, as jhash of
// nftables makes it. So each slot of a shorter table is a row of slots of a longer one.
type Table struct {
	// Members are those that the table was made of.
	Members []Member
	// Owner gets the packets of the slot. None: nobody can, and who receives a packet serves it.
	Owner []uint8
	// Second gets, from the owner, what belongs to a connection that the owner does not know. It is never the owner, and never dead.
	Second []uint8
	// Next says for each member who gets, of any slot, what neither the owner nor the Second knows, from the Second on: never a dead one. None:
	// nobody else is alive.
	Next []uint8
}

// Count is how many slots so many members need, for their shares to be even whichever of them are fit.
func Count(members int) int {
	switch {
	case members <= 5:
		return 120
	case members == 6:
		return 720
	}
	return 5040
}

// Make makes the table of these members. The table before may be nil; connections that were begun while it was
// in use are found by the new one's Second. Owner does not depend on it: a node that has just started has the same owners as the others.
//
// Where weights differ, each fit member has its share of the slots of Count(members) but for less than one slot.
func Make(members []Member, before *Table) *Table {
	members = slices.Clone(members[:min(len(members), Most)])
	n := Count(len(members))
	orders := orders(n, len(members))
	owner := owners(members, orders)
	// A table never becomes shorter: several slots of the one before would be one of the new, with one Second.
	length := n
	if before != nil {
		length = max(length, len(before.Owner))
	}
	t := &Table{
		Members: members, Owner: make([]uint8, length), Second: make([]uint8, length),
		Next: following(members, func(m int) bool { return members[m].Condition != Dead }),
	}
	former := formerly(members, before)
	for slot := range length {
		short := slot * n / length
		t.Owner[slot] = owner[short]
		t.Second[slot] = second(members, owner[short], former(slot, length), orders[short])
	}
	return t
}

// second is the first of the former owners, and then of the order, that lives and is not the owner.
func second(members []Member, owner uint8, former [2]uint8, order []uint8) uint8 {
	can := func(m uint8) bool { return m != None && m != owner && members[m].Condition != Dead }
	for _, m := range former {
		if can(m) {
			return m
		}
	}
	for _, idle := range []bool{false, true} { // who gets no connections hardly knows any
		for _, m := range order {
			if can(m) && (members[m].Weight == 0) == idle {
				return m
			}
		}
	}
	return None
}

// formerly returns who had a slot of a table of that length in the table before: its owner and its second, as indices into members.
func formerly(members []Member, before *Table) func(slot, length int) [2]uint8 {
	if before == nil || len(before.Owner) == 0 || len(before.Second) != len(before.Owner) {
		return func(int, int) [2]uint8 { return [2]uint8{None, None} }
	}
	now := make([]uint8, len(before.Members))
	for i, b := range before.Members {
		now[i] = uint8(slices.IndexFunc(members, func(m Member) bool { return m.Address == b.Address })) // of -1: None
	}
	index := func(m uint8) uint8 {
		if int(m) >= len(now) {
			return None
		}
		return now[m]
	}
	return func(slot, length int) [2]uint8 {
		slot = slot * len(before.Owner) / length
		return [2]uint8{index(before.Owner[slot]), index(before.Second[slot])}
	}
}

// Onward is where a member sends a packet of the slot whose connection it does not know: from the owner to the Second, and from
// everybody else, whose table or whose sender's table is not the newest, to the owner. None: nowhere.
func (t *Table) Onward(slot int, member uint8) uint8 {
	if owner := t.Owner[slot]; owner != member && owner != None {
		return owner
	}
	if second := t.Second[slot]; second != member {
		return second
	}
	return None
}

// Owned is how many slots each of so many members owns, and how many nobody does.
func (t *Table) Owned(members int) (owned []int, nobody int) {
	owned = make([]int, members)
	for _, m := range t.Owner {
		if int(m) < members {
			owned[m]++
		} else {
			nobody++
		}
	}
	return owned, nobody
}
