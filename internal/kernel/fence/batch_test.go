package fence

import (
	"net/netip"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestChangesOfOneBatchAreMadeTogether(t *testing.T) {
	l := NewLinks(nil, nil).on(5)
	l.open = &shared{groups: []Group{{ID: 7}, {ID: 8}}}
	batch := []*change{
		{leaves: &Share{id: 7}},
		{group: Group{Guard: 1}},
		{group: Group{Guard: 2}, bound: true},
		{group: Group{Guard: 3}, replaces: &Share{id: 8}},
	}
	next, held := l.groupsWith(batch)
	assert.Equal(t, []Group{{ID: 8, Guard: 3}, {ID: 2, Guard: 1}, {ID: 3, Guard: 2}}, next)
	assert.Equal(t, []uint32{3}, held, "silent until the first advertisement")
	assert.Equal(t, []Group{{ID: 7}, {ID: 8}}, l.open.groups, "nothing is changed yet")

	l.give(batch)
	assert.Nil(t, batch[0].share)
	assert.Equal(t, uint32(2), batch[1].share.id)
	assert.Nil(t, batch[3].share)
}

func TestLinksHaveChangesOfTheirOwn(t *testing.T) {
	all := NewLinks(nil, nil)
	assert.Same(t, all.on(3), all.on(3))
	assert.NotSame(t, all.on(3), all.on(4))
}

func TestLeftoversWithoutThoseThatHaveAGroup(t *testing.T) {
	a, b := netip.MustParseAddr("10.0.0.1"), netip.MustParseAddr("10.0.0.2")
	got := without([]netip.Addr{a, b}, []Group{{Addresses: []netip.Addr{a}}})
	assert.Equal(t, []netip.Addr{b}, got)
}

// grouped is a group of a test with these addresses, for Share.Change.
func grouped(id uint32, addrs ...netip.Addr) Group {
	return Group{ID: id, Addresses: addrs, Lease: time.Second, Guard: time.Minute}
}

// TestChangesThatMoveAddressesBetweenGroups: each entry of a configuration changes its own fence, so one may ask for what another has not
// given up yet. The kernel may not be asked here: what it would be given has to be valid.
func TestChangesThatMoveAddressesBetweenGroups(t *testing.T) {
	w, x := netip.MustParseAddr("10.0.0.1"), netip.MustParseAddr("10.0.0.2")
	y, z := netip.MustParseAddr("10.0.0.3"), netip.MustParseAddr("10.0.0.4")
	type groups = []Group
	for name, tt := range map[string]struct {
		have    groups
		refused groups // in this order, each alone
		last    Group
		want    groups
	}{
		"a swap": {
			groups{grouped(2, x), grouped(3, y)},
			groups{grouped(2, y)},
			grouped(3, x),
			groups{grouped(2, y), grouped(3, x)},
		},
		"a move, the one that gets it first": {
			groups{grouped(2, x), grouped(3, y, z)},
			groups{grouped(2, x, y)},
			grouped(3, z),
			groups{grouped(2, x, y), grouped(3, z)},
		},
		"a move, the one that gives it up first": {
			groups{grouped(2, x), grouped(3, z)},
			nil, grouped(2, x, y),
			groups{grouped(2, x, y), grouped(3, z)},
		},
		"all three move on": {
			groups{grouped(2, x), grouped(3, y), grouped(4, z)},
			groups{grouped(2, y), grouped(3, z)},
			grouped(4, x),
			groups{grouped(2, y), grouped(3, z), grouped(4, x)},
		},
		"one that is still impossible does not keep the others back": {
			groups{grouped(2, x), grouped(3, y), grouped(4, z), grouped(5, w)},
			groups{grouped(4, w), grouped(2, y)},
			grouped(3, x),
			groups{grouped(2, y), grouped(3, x), grouped(4, z), grouped(5, w)},
		},
		"only the newest of each counts": {
			groups{grouped(2, x), grouped(3, y), grouped(4, z)},
			groups{grouped(2, y), grouped(2, z)},
			grouped(4, x),
			groups{grouped(2, z), grouped(3, y), grouped(4, x)},
		},
	} {
		t.Run(name, func(t *testing.T) {
			l := NewLinks(nil, nil).on(5)
			l.open = &shared{linkFence: &linkFence{}, groups: tt.have}
			for _, g := range tt.refused {
				require.ErrorContains(t, l.apply(&change{group: g, replaces: &Share{id: g.ID}}), "already")
			}
			batch := []*change{{group: tt.last, replaces: &Share{id: tt.last.ID}}}
			next, _ := l.groupsWith(append(l.possible(batch), batch...))
			assert.Equal(t, tt.want, next)
			assert.NoError(t, validate(next))
		})
	}
}

func TestRefusedChangeOfOneThatLeavesIsForgotten(t *testing.T) {
	x, y := netip.MustParseAddr("10.0.0.1"), netip.MustParseAddr("10.0.0.2")
	l := NewLinks(nil, nil).on(5)
	l.open = &shared{linkFence: &linkFence{}, groups: []Group{grouped(2, x), grouped(3, y)}}
	changed, left := &Share{id: 2}, &Share{id: 3}
	require.Error(t, l.apply(&change{group: grouped(2, y), replaces: changed}))
	require.Error(t, l.apply(&change{group: grouped(3, x, y), replaces: left}))
	batch := []*change{{leaves: left}}
	l.forgetOlder(batch)
	next, _ := l.groupsWith(append(l.possible(batch), batch...))
	assert.Equal(t, []Group{grouped(2, y)}, next, "has what the other gives up by leaving")
}

// The link may be given another name meanwhile, which the one that makes the fence anew finds out. The race detector judges.
func TestRefusedGroupsAreSaidWithTheNameThatTheLinkHas(t *testing.T) {
	f := &linkFence{kernel: inKernel{tables: tablesFor(5, "eth0", testMark)}}
	var wg sync.WaitGroup
	wg.Go(func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.kernel.tables.link.device = "lan0"
	})
	assert.ErrorContains(t, f.set([]Group{{}}), "fence: set groups on ")
	wg.Wait()
}
