package slots

import "slices"

// Kept is the table of a member that gets all packets and sends some members none: their slots are its own, and they are asked about what it does not
// know. It is the same table where it keeps nothing, and nil where no other member has a slot then.
func (t *Table) Kept(self uint8, keeps func(member uint8) bool) *Table {
	if !slices.ContainsFunc(t.Owner, func(m uint8) bool { return m != None && m != self && keeps(m) }) {
		return t
	}
	out := &Table{Members: t.Members, Owner: slices.Clone(t.Owner), Second: slices.Clone(t.Second), Next: t.Next}
	sends := false
	for slot, owner := range t.Owner {
		switch {
		case owner == None || owner == self:
		case keeps(owner):
			out.Owner[slot], out.Second[slot] = self, owner
		default:
			sends = true
		}
	}
	if !sends {
		return nil
	}
	return out
}
