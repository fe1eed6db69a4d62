package fence

import (
	"net/netip"
	"slices"
	"testing"
	"time"

	"github.com/google/nftables"
	"github.com/mdlayher/netlink"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// filled are the sets to which tables that are made anew give an element, in memory.
func filled(t *testing.T, w *wanted, leaseEnds map[uint32]time.Time) []string {
	t.Helper()
	var names []string
	c, err := nftables.New(nftables.WithTestDial(func(batch []netlink.Message) ([]netlink.Message, error) {
		for _, m := range batch {
			if m.Header.Type == unix.NFNL_SUBSYS_NFTABLES<<8|unix.NFT_MSG_NEWSETELEM {
				attrs, err := netlink.UnmarshalAttributes(m.Data[4:])
				require.NoError(t, err)
				i := slices.IndexFunc(attrs, func(a netlink.Attribute) bool { return a.Type == unix.NFTA_SET_ELEM_LIST_SET })
				require.GreaterOrEqual(t, i, 0)
				names = append(names, string(attrs[i].Data[:len(attrs[i].Data)-1]))
			}
		}
		return nil, unix.EOPNOTSUPP // nobody waits for the answers
	}))
	require.NoError(t, err)
	tables := tablesFor(5, "eth0", testMark)
	tables.use(abilities{})
	require.NoError(t, tables.fill(c, w, leaseEnds))
	require.ErrorIs(t, c.Flush(), unix.EOPNOTSUPP)
	return names
}

// The last renewal is lost with the old table. A silent group may be the neighbour of the one that has the fence built anew.
func TestRebuildGivesALeaseOnlyToThoseThatHadOne(t *testing.T) {
	w := &wanted{
		groups: byID([]Group{
			grouped(2, netip.MustParseAddr("10.0.0.1")), grouped(3, netip.MustParseAddr("10.0.0.2")), grouped(4, netip.MustParseAddr("10.0.0.3")),
		}),
		held: map[uint32]part{2: 0, 3: 0, 4: 0},
	}
	now := time.Now()
	sets := filled(t, w, map[uint32]time.Time{2: now.Add(time.Minute), 3: now.Add(-time.Millisecond)})
	for _, id := range []uint32{2, 3, 4} {
		assert.Contains(t, sets, guardOf(id))
	}
	assert.Contains(t, sets, leaseOf(2))
	assert.NotContains(t, sets, leaseOf(3), "it was over")
	assert.NotContains(t, sets, leaseOf(4), "an earlier run has left the addresses")
}

// The kernel counts from the commit, which may come long after what is left was worked out.
func TestRebuildThatTookLongEndsTheLeasesThatItMadeTooLong(t *testing.T) {
	began := time.Unix(1000, 0)
	const lease = 290 * time.Millisecond
	w := &wanted{groups: map[uint32]Group{2: {ID: 2, Lease: lease}}, held: map[uint32]part{2: 0}}
	for _, tt := range []struct {
		name       string
		left, took time.Duration
		want       []uint32
	}{
		{"at once", 200 * time.Millisecond, 20 * time.Millisecond, nil},
		{"late", 200 * time.Millisecond, 60 * time.Millisecond, []uint32{2}},
		{"long after its end", 200 * time.Millisecond, time.Second, []uint32{2}},
		{"far from its end", time.Minute, time.Second, nil},
		{"it was over", -time.Millisecond, time.Second, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			ends := map[uint32]time.Time{2: began.Add(tt.left)}
			assert.Equal(t, tt.want, w.outlasting(ends, began, began.Add(tt.took)))
		})
	}
	assert.Empty(t, w.outlasting(nil, began, began.Add(time.Second)), "none is known")
}

// A process may be stopped when the tables are made and before it finds out that this took long. Until the next advertisement no other lease
// outlasts what the others count with.
func TestLeaseThatATransactionRestoresEndsInTimeHoweverLateItIs(t *testing.T) {
	began := time.Unix(1000, 0)
	for _, lease := range []time.Duration{140 * time.Millisecond, 290 * time.Millisecond, 740 * time.Millisecond, 3 * time.Second} {
		g := Group{ID: 2, Lease: lease, Advert: Advert{VRID: 1}}
		w := &wanted{groups: map[uint32]Group{2: g}, held: map[uint32]part{2: 0}}
		end := began.Add(lease * 9 / 10)
		for took := time.Duration(0); took < lease; took += time.Millisecond {
			asked := end.Sub(began) - g.spare() // as fill has it
			found := len(w.outlasting(map[uint32]time.Time{2: end}, began, began.Add(took))) > 0
			if took <= g.spare() {
				assert.False(t, began.Add(took).Add(asked).After(end), "%v, late by %v: it ends in time by itself", lease, took)
				assert.False(t, found, "%v, late by %v", lease, took)
			} else if took > g.late() {
				assert.True(t, found, "%v, late by %v: it is cut", lease, took)
			}
		}
		assert.Greater(t, lease*9/10-g.spare(), lease/3, "it lasts until the next advertisement")
	}
	assert.Zero(t, (&Group{ID: 2, Lease: time.Second}).spare(), "a lease that no advertisement renews is whole")
}

func TestLeaseEndsAreAskedWhenTheyAreNeeded(t *testing.T) {
	var ends leaseEnds
	assert.Empty(t, ends.now())
	first, second := time.Unix(1, 0), time.Unix(2, 0)
	end := first
	told := 0
	tell := func() { told++ }
	ends.follow(2, func() time.Time { return end }, tell)
	ends.follow(3, func() time.Time { return first }, tell)
	end = second
	assert.Equal(t, map[uint32]time.Time{2: second, 3: first}, ends.now())
	ends.tell()
	assert.Equal(t, 2, told)
	ends.forget(2)
	assert.Equal(t, map[uint32]time.Time{3: first}, ends.now())
	ends.tell()
	assert.Equal(t, 3, told)
}
