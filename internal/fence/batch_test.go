package fence

import (
	"net/netip"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestChangesOfOneBatchAreMadeTogether(t *testing.T) {
	l := NewLinks(nil).on(5)
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
	all := NewLinks(nil)
	assert.Same(t, all.on(3), all.on(3))
	assert.NotSame(t, all.on(3), all.on(4))
}

func TestLeftoversWithoutThoseThatHaveAGroup(t *testing.T) {
	a, b := netip.MustParseAddr("10.0.0.1"), netip.MustParseAddr("10.0.0.2")
	got := without([]netip.Addr{a, b}, []Group{{Addresses: []netip.Addr{a}}})
	assert.Equal(t, []netip.Addr{b}, got)
}
