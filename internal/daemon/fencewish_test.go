package daemon

import (
	"net/netip"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/keepvip/keepvip/internal/agent"
	"github.com/keepvip/keepvip/internal/fence"
)

func TestWishesAreMetTogether(t *testing.T) {
	f := newFences(nil)
	s := &sharedFence{groups: []fence.Group{{ID: 7}, {ID: 8}}}
	part := []*wish{
		{gone: &groupFence{id: 7}},
		{group: fence.Group{Guard: 1}},
		{group: fence.Group{Guard: 2}, bound: true},
	}
	next, held := f.groupsWith(s, part)
	assert.Equal(t, []fence.Group{{ID: 8}, {ID: 2, Guard: 1}, {ID: 3, Guard: 2}}, next)
	assert.Equal(t, []uint32{3}, held, "silent until the first advertisement")
	assert.Len(t, s.groups, 2, "nothing is changed yet")

	f.give(5, s, part)
	assert.Nil(t, part[0].fence)
	assert.Equal(t, uint32(2), part[1].fence.(*groupFence).id)
}

func TestWishesOfEachLinkApart(t *testing.T) {
	var w wishes
	for _, index := range []int{3, 4, 3} {
		w.add(&wish{place: agent.Place{Index: index}})
	}
	got := w.take()
	assert.Len(t, got[3], 2)
	assert.Len(t, got[4], 1)
	assert.Empty(t, w.take())
}

func TestOrphansWithoutThoseThatHaveAGroup(t *testing.T) {
	a, b := netip.MustParseAddr("10.0.0.1"), netip.MustParseAddr("10.0.0.2")
	got := orphansWithout([]netip.Addr{a, b}, []fence.Group{{Addresses: []netip.Addr{a}}})
	assert.Equal(t, []netip.Addr{b}, got)
}
