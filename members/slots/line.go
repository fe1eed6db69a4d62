package slots

// Chances is how many times a packet of an unknown connection is sent on, after the first of so many members: to the Second, and from there
// from each to the Next, until all of them had it, and one more that has just come and is not known everywhere. Two are done when the
// Second had it.
func Chances(members int) int {
	if members <= 2 {
		return max(members-1, 0)
	}
	return min(members+1, Most)
}

// following says for each member which one comes after it, in their order and then from the beginning, of those that may have connections. It
// depends on nothing else: also between nodes of which some have made a new table and others have not yet, a packet comes to everybody.
func following(members []Member, can func(m int) bool) []uint8 {
	next := make([]uint8, len(members))
	for i := range members {
		next[i] = None
		for step := 1; step < len(members); step++ {
			if m := (i + step) % len(members); can(m) {
				next[i] = uint8(m)
				break
			}
		}
	}
	return next
}

// Among is the table where only some of the members can have packets, such as those that have an address of a family: the slots of the
// others go in turn to those that own any. It is the same table where all of them can.
func (t *Table) Among(can func(member uint8) bool) *Table {
	owning := make([]bool, None)
	lacks := false
	for _, m := range t.Owner {
		if m != None {
			owning[m] = can(m)
			lacks = lacks || !owning[m]
		}
	}
	for m := range t.Next {
		lacks = lacks || !can(uint8(m))
	}
	if !lacks {
		return t
	}
	var others []uint8
	for m, owns := range owning {
		if owns {
			others = append(others, uint8(m))
		}
	}
	out := &Table{Members: t.Members, Owner: make([]uint8, len(t.Owner)), Second: make([]uint8, len(t.Second)), Next: make([]uint8, len(t.Next))}
	turn, row := -1, -1
	for slot, owner := range t.Owner {
		second := t.Second[slot]
		if owner != None && !owning[owner] {
			owner = None
			if at := slot * Count(len(t.Next)) / len(t.Owner); at != row { // a longer table has a row of slots for each of a shorter one
				turn, row = turn+1, at
			}
			if len(others) > 0 {
				owner = others[turn%len(others)]
			}
		}
		if second == owner || second != None && !can(second) {
			second = None
		}
		out.Owner[slot], out.Second[slot] = owner, second
	}
	for i := range t.Next {
		out.Next[i] = t.nextAmong(uint8(i), can)
	}
	return out
}

// nextAmong is the first of those that come after a member that can have packets.
func (t *Table) nextAmong(member uint8, can func(uint8) bool) uint8 {
	m := member
	for range t.Next {
		if m = t.Next[m]; m == None || m == member {
			return None
		}
		if can(m) {
			return m
		}
	}
	return None
}
