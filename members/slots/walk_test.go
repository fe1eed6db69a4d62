package slots

import (
	"fmt"
	"math/rand/v2"
	"net/netip"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// A walk is a group whose members come, go, and change in any order, and connections that are to outlive it: the model of what the kernels of
// the nodes do with a packet, each by the table that it has at that moment.
type walk struct {
	t     *testing.T
	r     *rand.Rand
	truth []Member              // in the order of the list; Dead: it has no connections any more
	now   *Table                // of truth
	nodes map[netip.Addr]*table // what each node has
	conns []connection
	added byte
	moved string // what has happened, for a failure
}

// table is one with its members.
type table struct{ *Table }

// connection has its socket at a node.
type connection struct {
	hash uint64 // of 32 bits
	at   netip.Addr
}

func (t *table) slot(hash uint64) int { return int(hash * uint64(len(t.Owner)) >> 32) }

func (t *table) index(a netip.Addr) uint8 {
	i := slices.IndexFunc(t.Members, func(m Member) bool { return m.Address == a })
	if i < 0 {
		return None
	}
	return uint8(i)
}

func (t *table) address(m uint8) netip.Addr {
	if m == None {
		return netip.Addr{}
	}
	return t.Members[m].Address
}

// owner is to whom the receiver gives a packet, itself included.
func (w *walk) owner(receiver netip.Addr, hash uint64) netip.Addr {
	t := w.nodes[receiver]
	if m := t.Owner[t.slot(hash)]; m != None {
		return t.address(m)
	}
	return receiver
}

// asked are the nodes that get a packet of a connection that none of them knows, in order. A dead one ends it.
func (w *walk) asked(receiver netip.Addr, hash uint64) []netip.Addr {
	at := w.owner(receiver, hash)
	asked := []netip.Addr{at}
	t := w.nodes[at]
	if t == nil {
		return asked
	}
	more := Chances(len(t.Members))
	onward := t.Onward(t.slot(hash), t.index(at))
	if onward == None {
		onward = t.Next[t.index(at)]
	}
	for ; onward != None && more > 0; more-- {
		at = t.address(onward)
		asked = append(asked, at)
		if t = w.nodes[at]; t == nil {
			break
		}
		if self := t.index(at); self != None {
			onward = t.Next[self]
		} else {
			onward = None
		}
	}
	return asked
}

// check sends a packet of each connection.
func (w *walk) check(receiver netip.Addr) {
	for _, c := range w.conns {
		asked := w.asked(receiver, c.hash)
		dead := w.nodes[asked[len(asked)-1]] == nil
		if !dead && !slices.Contains(asked, c.at) { // asked so often that an assertion would take most of the time
			require.Fail(w.t, w.moved, "one at %v, received by %v, asked %v", c.at, receiver, asked)
		}
	}
}

// connect begins connections.
func (w *walk) connect(receiver netip.Addr, times int) {
	for range times {
		hash := uint64(w.r.Uint32())
		if at := w.owner(receiver, hash); w.nodes[at] != nil {
			w.conns = append(w.conns, connection{hash, at})
		}
	}
}

// living are the nodes that run.
func (w *walk) living() (list []netip.Addr) {
	for _, m := range w.truth {
		if m.Condition != Dead {
			list = append(list, m.Address)
		}
	}
	return list
}

// step changes one thing, and has one node after the other hear of it: the one that it is about first, if it lives. Packets come in all the
// time, and whoever receives them at the beginning does so until all have heard.
func (w *walk) step() {
	before := w.now
	subject := w.change()
	w.now = Make(w.truth, before)
	living := w.living()
	receiver := living[w.r.IntN(len(living))]
	w.r.Shuffle(len(living), func(i, j int) { living[i], living[j] = living[j], living[i] })
	slices.SortStableFunc(living, func(a, b netip.Addr) int {
		return boolAsInt(b == subject) - boolAsInt(a == subject)
	})
	if w.nodes[receiver] == nil { // it is new, and receives nothing yet
		receiver = living[len(living)-1]
	}
	for _, n := range living {
		w.nodes[n] = &table{w.now}
		if w.nodes[receiver] == nil {
			continue
		}
		w.connect(receiver, 3)
		w.check(receiver)
	}
	for _, n := range living { // now that all have heard, no dead one ends it any more
		for _, c := range w.conns {
			if asked := w.asked(n, c.hash); !slices.Contains(asked, c.at) {
				require.Fail(w.t, w.moved, "one at %v, received by %v in the end, asked %v", c.at, n, asked)
			}
		}
	}
}

func boolAsInt(b bool) int {
	if b {
		return 1
	}
	return 0
}

// change changes a member, and returns which.
func (w *walk) change() netip.Addr {
	living := w.living()
	i := w.r.IntN(len(w.truth))
	m := &w.truth[i]
	switch what := w.r.IntN(8); {
	case what == 0 && len(w.truth) < Most:
		w.added++
		at := w.r.IntN(len(w.truth) + 1)
		w.truth = slices.Insert(w.truth, at, Member{Address: netip.AddrFrom4([4]byte{10, 0, 0, w.added}), Condition: Fit, Weight: 1})
		m = &w.truth[at]
	case what == 1 && m.Condition == Dead && len(w.truth) > 1:
		gone := m.Address
		w.truth = slices.Delete(w.truth, i, i+1)
		w.moved += fmt.Sprintf(" forgotten %v", gone)
		return gone
	case what == 2 && len(living) > 1 && m.Condition != Dead:
		m.Condition = Dead
		delete(w.nodes, m.Address)
		w.conns = slices.DeleteFunc(w.conns, func(c connection) bool { return c.at == m.Address })
	case what == 3:
		m.Weight = uint8(w.r.IntN(4))
	case m.Condition == Fit:
		m.Condition = Keeps
	default:
		m.Condition = Fit
	}
	w.moved += fmt.Sprintf(" %v", *m)
	return m.Address
}

// TestWalkFindsEveryConnection: whatever happened before, a packet of a connection comes to the node that has it, at every node that may receive it.
func TestWalkFindsEveryConnection(t *testing.T) {
	for seed := range uint64(14) {
		w := &walk{t: t, r: rand.New(rand.NewPCG(seed, 13)), nodes: map[netip.Addr]*table{}}
		w.truth = group(1 + int(seed%uint64(Most)))
		w.added = 100
		w.now = Make(w.truth, nil)
		for _, m := range w.truth {
			w.nodes[m.Address] = &table{w.now}
		}
		w.connect(w.truth[0].Address, 40)
		for step := range 25 {
			w.moved = fmt.Sprintf("seed %d, step %d:", seed, step)
			w.step()
		}
		require.NotEmpty(t, w.conns)
	}
}

// Of two members that get no new connections each may have those of the other's slots, and of its own.
func TestNextComesToAllThatAreNotDead(t *testing.T) {
	for n := 1; n <= Most; n++ {
		for alive := range 1 << n {
			members := group(n)
			for i := range members {
				members[i].Condition = Condition(i % 3)
				if alive&(1<<i) == 0 {
					members[i].Condition = Dead
				} else if members[i].Condition == Dead {
					members[i].Condition = Keeps
				}
			}
			table := Make(members, nil)
			for from := range members {
				seen := map[uint8]bool{}
				for m := table.Next[from]; m != None && !seen[m]; m = table.Next[m] {
					seen[m] = true
				}
				for i, m := range members {
					if want := m.Condition != Dead && (i != from || len(seen) > 1); want != seen[uint8(i)] {
						require.Equal(t, want, seen[uint8(i)], "%d of %d from %d, %b", i, n, from, alive)
					}
				}
			}
		}
	}
}

// A node that has known more members has a longer table than one that has just started. Both are about the same packets.
func TestAmongOwnersDoNotDependOnThePast(t *testing.T) {
	const lacks = 1
	for n := 3; n <= Most; n++ {
		can := func(m uint8) bool { return m != lacks }
		fresh := Make(group(n), nil).Among(can)
		long := Make(group(n), Make(group(Most), nil)).Among(can)
		require.Len(t, long.Owner, Count(Most))
		for slot, owner := range long.Owner {
			require.Equal(t, fresh.Owner[slot*len(fresh.Owner)/len(long.Owner)], owner, "%d members, slot %d", n, slot)
		}
	}
}

func TestAmongGivesSlotsOfOthersToThoseThatCan(t *testing.T) {
	members := with(group(4), map[int]Condition{3: Keeps})
	table := Make(members, nil)
	require.Same(t, table, table.Among(func(uint8) bool { return true }))
	some := table.Among(func(m uint8) bool { return m != 1 })
	owned, nobody := some.Owned(4)
	require.Equal(t, []int{60, 0, 60, 0}, owned)
	require.Zero(t, nobody)
	for slot, owner := range table.Owner {
		if owner != 1 {
			require.Equal(t, owner, some.Owner[slot], "no other slot moves")
		}
		require.NotEqual(t, uint8(1), some.Second[slot])
		require.NotEqual(t, some.Owner[slot], some.Second[slot])
	}
	require.Equal(t, []uint8{2, 2, 3, 0}, some.Next)
	none := table.Among(func(m uint8) bool { return m == 3 })
	_, nobody = none.Owned(4)
	require.Equal(t, 120, nobody, "nobody who gets new ones can")
	require.Equal(t, []uint8{3, 3, 3, None}, none.Next)
}
