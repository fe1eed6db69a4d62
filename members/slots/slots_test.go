package slots

import (
	"net/netip"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// group is so many fit members with the weight 1.
func group(n int) []Member {
	members := make([]Member, n)
	for i := range members {
		members[i] = Member{Address: netip.AddrFrom4([4]byte{192, 0, 2, byte(i + 1)}), Condition: Fit, Weight: 1}
	}
	return members
}

// with is a copy of the members with other conditions.
func with(members []Member, conditions map[int]Condition) []Member {
	members = slices.Clone(members)
	for i, c := range conditions {
		members[i].Condition = c
	}
	return members
}

// weighing is a group with these weights.
func weighing(weights ...uint8) []Member {
	members := group(len(weights))
	for i, w := range weights {
		members[i].Weight = w
	}
	return members
}

func TestMakeEveryFitSubsetHasEvenShares(t *testing.T) {
	for n := 1; n <= Most; n++ {
		for subset := range 1 << n {
			members, fit := group(n), 0
			for i := range members {
				if subset&(1<<i) == 0 {
					members[i].Condition = Condition(i % 2) // dead, or keeps
				} else {
					fit++
				}
			}
			owned, nobody := Make(members, nil).Owned(n)
			if fit == 0 {
				assert.Equal(t, Count(n), nobody)
				continue
			}
			assert.Zero(t, nobody)
			for i, m := range members {
				want := 0
				if m.Condition == Fit {
					want = Count(n) / fit
				}
				require.Equal(t, want, owned[i], "member %d of %d, subset %b", i, n, subset)
			}
		}
	}
}

func TestMakeMemberMoreMovesItsShareAlone(t *testing.T) {
	for n := 1; n < Most; n++ {
		members := group(n + 1)
		before := Make(members[:n], nil)
		after := Make(members, before)
		moved := 0
		for slot, owner := range after.Owner {
			old := before.Owner[slot*len(before.Owner)/len(after.Owner)]
			if owner == old {
				continue
			}
			moved++
			require.Equal(t, uint8(n), owner, "slot %d moved between two that were there before", slot)
			require.Equal(t, old, after.Second[slot], "connections of slot %d", slot)
		}
		assert.Equal(t, len(after.Owner)/(n+1), moved, "of %d slots, by member %d", len(after.Owner), n+1) // 25 % by the fourth
	}
}

func TestMakeMemberLessMovesItsShareAlone(t *testing.T) {
	for n := 2; n <= Most; n++ {
		members := group(n)
		all := Make(members, nil)
		for gone := range n {
			for _, c := range []Condition{Dead, Keeps} {
				without := with(members, map[int]Condition{gone: c})
				after := Make(without, all)
				for slot, owner := range after.Owner {
					require.NotEqual(t, uint8(gone), owner)
					if all.Owner[slot] != uint8(gone) {
						require.Equal(t, all.Owner[slot], owner, "slot %d", slot)
					} else if c == Keeps {
						require.Equal(t, uint8(gone), after.Second[slot], "connections of slot %d", slot)
					}
				}
				// The member returns: what was begun meanwhile is found where it is.
				returned := Make(members, after)
				assert.Equal(t, all.Owner, returned.Owner)
				for slot, owner := range returned.Owner {
					if owner == uint8(gone) {
						require.Equal(t, after.Owner[slot], returned.Second[slot], "connections of slot %d", slot)
					}
				}
			}
		}
	}
}

func TestMakeSecondOfTheFirstTableIsNextInTheOrder(t *testing.T) {
	members := group(3)
	table := Make(members, nil)
	drained := Make(with(members, map[int]Condition{0: Keeps}), nil)
	for slot, owner := range table.Owner {
		require.NotEqual(t, owner, table.Second[slot])
		if owner == 0 { // what owns the slot if member 0 is not fit is what is asked for its connections
			require.Equal(t, drained.Owner[slot], table.Second[slot])
		}
	}
	alone := Make(with(members, map[int]Condition{1: Dead, 2: Dead}), nil)
	for slot := range alone.Owner {
		require.Zero(t, alone.Owner[slot])
		require.Equal(t, None, alone.Second[slot], "the dead know no connection")
	}
}

// Members that own nothing, as machines that only send on, are neither in the way of the others' shares nor asked for connections.
func TestMakeMembersOfNoWeightChangeNothing(t *testing.T) {
	for n := 1; n < Most; n++ {
		for more := 1; n+more <= Most; more++ {
			members := group(n + more)
			for i := range more {
				members[n+i].Weight = 0
			}
			alone, with := Make(members[:n], nil), Make(members, nil)
			for slot, owner := range with.Owner {
				require.Equal(t, alone.Owner[slot*len(alone.Owner)/len(with.Owner)], owner)
				if n > 1 {
					require.Less(t, with.Second[slot], uint8(n), "slot %d of %d and %d members", slot, n, more)
				}
			}
			grown := Make(members, alone)
			require.Equal(t, with.Owner, grown.Owner)
			for slot, second := range grown.Second {
				if n == 1 {
					break // there is nobody else
				}
				require.Equal(t, alone.Second[slot*len(alone.Second)/len(grown.Second)], second, "what is asked stays")
			}
		}
	}
}

func TestMakeSecondIsKeptWhenSomethingElseChanges(t *testing.T) {
	members := group(4)
	drained := with(members, map[int]Condition{1: Keeps})
	all := Make(members, nil)
	during := Make(drained, all)
	back := Make(members, during)
	dead := with(members, map[int]Condition{3: Dead})
	after := Make(dead, back)
	for slot, owner := range back.Owner {
		if owner == 1 && back.Second[slot] != 3 {
			require.Equal(t, back.Second[slot], after.Second[slot])
		}
	}
	again := Make(dead, after)
	assert.Equal(t, after, again, "what does not change makes the same table")
}

func TestMakeNobodyFitLeavesItToTheReceiver(t *testing.T) {
	members := group(3)
	before := Make(members, nil)
	none := Make(with(members, map[int]Condition{0: Keeps, 1: Keeps, 2: Dead}), before)
	for slot, owner := range none.Owner {
		require.Equal(t, None, owner)
		if before.Owner[slot] != 2 {
			require.Equal(t, before.Owner[slot], none.Second[slot], "its connections are still where they were")
		}
	}
	empty := Make(nil, before)
	assert.Equal(t, slices.Repeat([]uint8{None}, 120), empty.Owner)
	assert.Equal(t, empty.Owner, empty.Second)
}

func TestMakeMemberInTheMidstKeepsConnections(t *testing.T) {
	for n := 1; n < Most; n++ {
		for at := range n {
			members := group(n + 1)
			old := slices.Delete(slices.Clone(members), at, at+1)
			before := Make(old, nil)
			after := Make(members, before)
			for slot := range after.Owner {
				had := old[before.Owner[slot*len(before.Owner)/len(after.Owner)]].Address
				owner := members[after.Owner[slot]].Address
				require.True(t, owner == had || members[after.Second[slot]].Address == had, "slot %d, member %d of %d", slot, at, n+1)
			}
			gone := Make(old, after) // its own connections go with it
			for slot := range gone.Owner {
				had := members[after.Owner[slot]].Address
				owner := old[gone.Owner[slot]].Address
				found := owner == had || n > 1 && old[gone.Second[slot]].Address == had
				require.True(t, found || had == members[at].Address, "slot %d, member %d of %d leaves", slot, at, n+1)
			}
		}
	}
}

func TestMakeOwnersDoNotDependOnThePast(t *testing.T) {
	weighted := weighing(1, 2, 3, 4, 5)
	members := group(5)
	for _, now := range [][]Member{members, weighted, with(members, map[int]Condition{2: Dead})} {
		fresh := Make(now, nil)
		seven := group(7)
		old := Make(now, Make(seven, nil))
		require.Len(t, old.Owner, Count(7))
		for slot, owner := range old.Owner {
			require.Equal(t, fresh.Owner[slot*len(fresh.Owner)/len(old.Owner)], owner, "slot %d", slot)
		}
	}
}

func TestMakeWeightsShareInProportion(t *testing.T) {
	for _, weights := range [][]uint8{{1, 2}, {2, 2, 1}, {1, 2, 3}, {255, 1, 1}, {1, 1, 1, 0}, {0, 7, 7, 7}, {3, 5, 7, 11, 13}, {1, 2, 3, 4, 5, 6}} {
		members := weighing(weights...)
		for subset := 1; subset < 1<<len(weights); subset++ {
			conditions, total := map[int]Condition{}, 0
			for i, w := range weights {
				if subset&(1<<i) == 0 {
					conditions[i] = Keeps
				} else {
					total += int(w)
				}
			}
			owned, nobody := Make(with(members, conditions), nil).Owned(len(members))
			n := Count(len(weights))
			if total == 0 {
				assert.Equal(t, n, nobody)
				continue
			}
			for i, w := range weights {
				if _, not := conditions[i]; not || w == 0 {
					require.Zero(t, owned[i])
					continue
				}
				require.InDelta(t, float64(n)*float64(w)/float64(total), owned[i], 1, "weights %v, subset %b, member %d", weights, subset, i)
			}
		}
	}
}

// A change with unequal weights moves more than the share of the member, and the connections of what moves are found.
func TestMakeWeightsMoveLittle(t *testing.T) {
	for _, weights := range [][]uint8{{2, 1, 1}, {1, 2, 3}, {1, 2, 3, 4, 5}} {
		members := weighing(weights...)
		all := Make(members, nil)
		for gone := range weights {
			without := with(members, map[int]Condition{gone: Keeps})
			after := Make(without, all)
			besides := 0
			for slot, owner := range after.Owner {
				if owner == all.Owner[slot] {
					continue
				}
				require.Equal(t, all.Owner[slot], after.Second[slot])
				if all.Owner[slot] != uint8(gone) {
					besides++
				}
			}
			t.Logf("weights %v, without member %d: %d of %d move besides", weights, gone, besides, len(after.Owner))
			assert.LessOrEqual(t, besides, len(after.Owner)/8)
		}
	}
}

func TestMakeMembersBehindTheMostOwnNothing(t *testing.T) {
	table := Make(group(9), nil)
	owned, nobody := table.Owned(9)
	assert.Equal(t, []int{720, 720, 720, 720, 720, 720, 720, 0, 0}, owned)
	assert.Zero(t, nobody)
}

func TestTableKept(t *testing.T) {
	members := group(3)
	table := Make(members, nil)
	keep := func(kept ...uint8) func(uint8) bool { return func(m uint8) bool { return slices.Contains(kept, m) } }
	assert.Same(t, table, table.Kept(0, keep()))
	assert.Same(t, table, table.Kept(0, keep(0)), "they are its own anyway")
	assert.Nil(t, table.Kept(0, keep(1, 2)))
	kept := table.Kept(0, keep(1))
	owned, nobody := kept.Owned(3)
	assert.Equal(t, []int{80, 0, 40}, owned)
	assert.Zero(t, nobody)
	for slot, owner := range table.Owner {
		want := []uint8{owner, table.Second[slot]}
		if owner == 1 {
			want = []uint8{0, 1}
		}
		require.Equal(t, want, []uint8{kept.Owner[slot], kept.Second[slot]})
	}
	none := Make(with(members, map[int]Condition{0: Keeps, 1: Keeps, 2: Keeps}), nil)
	assert.Same(t, none, none.Kept(0, keep(1)), "slots of nobody are the receiver's anyway")
}

func TestTableOnward(t *testing.T) {
	table := &Table{Owner: []uint8{0, 0, None, None}, Second: []uint8{1, None, 1, None}}
	for _, c := range []struct {
		slot   int
		member uint8
		want   uint8
		why    string
	}{
		{0, 0, 1, "the owner does not know it"},
		{0, 1, 0, "the sender's table is an older one"},
		{0, 2, 0, "likewise"},
		{1, 0, None, "nobody else may know it"},
		{2, 0, 1, "nobody owns the slot, and the receiver does not know it"},
		{2, 1, None, "it is the one who should know"},
		{3, 0, None, "there is nobody"},
	} {
		assert.Equal(t, c.want, table.Onward(c.slot, c.member), "slot %d at %d: %s", c.slot, c.member, c.why)
	}
}

func TestOrderOfFirstMembersIsThatOfTheShorterTable(t *testing.T) {
	for n := 2; n <= Most; n++ {
		seen := map[string]int{}
		for slot := range Count(n) {
			long := insert(nil, slot, Count(n), n)
			short := insert(nil, slot*Count(n-1)/Count(n), Count(n-1), n-1)
			require.Equal(t, short, slices.DeleteFunc(slices.Clone(long), func(m uint8) bool { return int(m) == n-1 }))
			seen[string(long)]++
		}
		for o, times := range seen {
			require.Equal(t, Count(n)/len(seen), times, "order %v", []byte(o))
		}
	}
}

func TestBetweenKnowsWhoHadASlotBeforeAndSince(t *testing.T) {
	members := group(3)
	// The third one came last: what is asked in its place is not who is next in the order.
	first := Make(members[:2], nil)
	before := Make(members, first)
	for gone := range members {
		without := with(members, map[int]Condition{gone: Keeps})
		during := Make(without, before)
		table := Between(before, during)
		back := Make(members, table)
		require.Equal(t, before.Owner, back.Owner)
		for slot, owner := range back.Owner {
			if owner == uint8(gone) {
				require.Equal(t, during.Owner[slot], back.Second[slot], "connections that were begun meanwhile in slot %d", slot)
			} else {
				require.Equal(t, before.Second[slot], back.Second[slot], "slot %d, which did not move", slot)
			}
		}
	}
	// One after the other: who had a slot before the first change is asked first.
	none := with(members, map[int]Condition{0: Keeps})
	during := Make(none, before)
	table := Between(before, during)
	last := Make(with(members, map[int]Condition{0: Keeps, 1: Keeps}), table)
	for slot := range last.Owner {
		if before.Owner[slot] != 2 {
			require.Equal(t, before.Owner[slot], last.Second[slot])
		}
	}
	// A member that is new meanwhile.
	more := group(4)
	during = Make(more, before)
	table = Between(before, during)
	gone := Make(with(more, map[int]Condition{3: Keeps}), table)
	for slot := range gone.Owner {
		if during.Owner[slot] == 3 {
			require.Equal(t, uint8(3), gone.Second[slot])
		}
	}
}

// While nobody is fit whoever receives a packet serves it, and asks who had the slot before. As one after the other is fit again, those are asked
// all the same.
func TestBetweenKnowsWhoHadASlotBeforeNobodyWasFit(t *testing.T) {
	members := group(3)
	before := Make(members, nil)
	none := with(members, map[int]Condition{0: Keeps, 1: Keeps, 2: Keeps})
	nobody := Make(none, before)
	first := with(none, map[int]Condition{0: Fit})
	then := Make(first, nobody)
	table := Between(nobody, then)
	second := with(first, map[int]Condition{2: Fit})
	after := Make(second, table)
	for slot, owner := range before.Owner {
		require.Contains(t, []uint8{after.Owner[slot], after.Second[slot]}, owner, "slot %d", slot)
	}
}
