package slots

import (
	"net/netip"
	"testing"

	"github.com/stretchr/testify/require"
)

// membersOf makes members of bytes: three of each, an address, a condition and a weight.
func membersOf(data []byte) []Member {
	var members []Member
	known := map[byte]bool{}
	for ; len(data) >= 3 && len(members) < Most+2; data = data[3:] {
		if known[data[0]] {
			continue
		}
		known[data[0]] = true
		members = append(members, Member{Address: netip.AddrFrom4([4]byte{10, 0, 0, data[0]}), Condition: Condition(data[1] % 3), Weight: data[2]})
	}
	return members
}

// FuzzMake makes a table of any members after one of any other ones, and checks what users of a table rely on.
func FuzzMake(f *testing.F) {
	f.Add([]byte{1, 2, 1, 2, 2, 1, 3, 2, 1}, []byte{1, 2, 1, 2, 1, 1, 3, 2, 1})
	f.Add([]byte{}, []byte{9, 0, 0})
	f.Add([]byte{1, 2, 1, 2, 2, 200, 3, 1, 1, 4, 2, 0, 5, 2, 7, 6, 2, 7, 7, 2, 7}, []byte{4, 2, 1})
	f.Fuzz(func(t *testing.T, first, then []byte) {
		old, members := membersOf(first), membersOf(then)
		before := Make(old, nil)
		table := Make(members, before)
		require.Equal(t, table, Make(members, before))
		require.Len(t, table.Second, len(table.Owner))
		require.Zero(t, len(table.Owner)%Count(len(members)))
		if len(members) > Most {
			members = members[:Most]
		}
		require.Len(t, table.Next, len(members))
		for i, next := range table.Next {
			require.True(t, next == None || int(next) != i && members[next].Condition != Dead)
		}
		for slot, owner := range table.Owner {
			second := table.Second[slot]
			if owner == None {
				for _, m := range members {
					require.False(t, m.Owns())
				}
			} else {
				require.True(t, members[owner].Owns())
			}
			if second != None {
				require.NotEqual(t, owner, second)
				require.NotEqual(t, Dead, members[second].Condition)
			}
			// Whoever had the slot, and lives, is asked.
			had := before.Owner[slot*len(before.Owner)/len(table.Owner)]
			for i, m := range members {
				if had != None && m.Address == old[had].Address && m.Condition != Dead {
					require.True(t, owner == uint8(i) || second == uint8(i), "slot %d", slot)
				}
			}
			for m := range members {
				require.NotEqual(t, uint8(m), table.Onward(slot, uint8(m)))
			}
		}
	})
}
