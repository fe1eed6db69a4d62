package slots

import "slices"

// Between is the table to make one after, where then follows before by changes that are taken for one: its Owner had a slot before the
// first of them, and its Second is who had it last since, if that is somebody else. Both may have connections.
func Between(before, then *Table) *Table {
	members := slices.Clone(before.Members)
	now := make([]uint8, len(then.Members)) // indices of then's members in members
	for i, m := range then.Members {
		at := slices.IndexFunc(members, func(b Member) bool { return b.Address == m.Address })
		if at < 0 {
			at, members = len(members), append(members, m)
		}
		now[i] = uint8(at)
	}
	length := max(len(before.Owner), len(then.Owner))
	t := &Table{Members: members, Owner: make([]uint8, length), Second: make([]uint8, length)}
	for slot := range length {
		old := slot * len(before.Owner) / length
		t.Owner[slot], t.Second[slot] = before.Owner[old], before.Second[old]
		if t.Owner[slot] == None { // while nobody could, it was still theirs who had it before
			t.Owner[slot], t.Second[slot] = t.Second[slot], None
		}
		since := then.Owner[slot*len(then.Owner)/length]
		if int(since) < len(now) && now[since] != t.Owner[slot] {
			t.Second[slot] = now[since]
		}
	}
	return t
}
