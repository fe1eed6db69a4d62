package slots

import "slices"

// insert puts the slot's order of the members into o, which is empty and has room for it. The slot, of n, is read as a number in the factorial number system, its most significant
// digit first: digit k says before how many of the first k-1 members the k-th comes. So the first k! equal parts of the slots are all
// k! orders of the first k members, and a member more changes nothing about the order of those before it.
func insert(o []uint8, slot, n, members int) []uint8 {
	parts := 1
	for k := 1; k <= members; k++ {
		parts *= k
		o = slices.Insert(o, slot*parts/n%k, uint8(k-1))
	}
	return o
}

// orders are those of n slots, in one piece: there are thousands.
func orders(n, members int) [][]uint8 {
	out, all := make([][]uint8, n), make([]uint8, n*members)
	for slot := range out {
		out[slot] = insert(all[slot*members:][:0:members], slot, n, members)
	}
	return out
}

// owners gives each slot to the first in its order that owns slots and has not got its share. With equal weights that is always the
// first that owns slots at all.
func owners(members []Member, orders [][]uint8) []uint8 {
	owner := slices.Repeat([]uint8{None}, len(orders))
	left := shares(members, len(orders))
	for rank := range members {
		for i := range orders {
			slot := scattered(i, len(orders))
			if owner[slot] != None {
				continue
			}
			if m, ok := ranked(members, orders[slot], rank); ok && left[m] > 0 {
				owner[slot] = m
				left[m]--
			}
		}
	}
	return owner
}

// ranked is the member with that rank among those of an order that own slots.
func ranked(members []Member, order []uint8, rank int) (uint8, bool) {
	for _, m := range order {
		if !members[m].Owns() {
			continue
		}
		if rank == 0 {
			return m, true
		}
		rank--
	}
	return None, false
}

// scattered goes through all n slots, each once, in steps: slots side by side have similar orders, and whoever has got its share must
// not leave it to the last of them. The step has no factor in common with any n.
func scattered(i, n int) int {
	const step = 143
	return i * step % n
}

// shares divides n slots among the members that own some, by weight; what is left over by rounding goes to those that lost most by it.
func shares(members []Member, n int) []int {
	share, rest := make([]int, len(members)), make([]int, len(members))
	total := 0
	for _, m := range members {
		if m.Owns() {
			total += int(m.Weight)
		}
	}
	if total == 0 {
		return share
	}
	left := n
	for i, m := range members {
		if m.Owns() {
			share[i], rest[i] = n*int(m.Weight)/total, n*int(m.Weight)%total
			left -= share[i]
		}
	}
	for ; left > 0; left-- {
		most := 0
		for i := range rest {
			if rest[i] > rest[most] {
				most = i
			}
		}
		share[most]++
		rest[most] = 0
	}
	return share
}
