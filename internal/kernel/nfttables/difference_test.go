package nfttables

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/keepvip/keepvip/members/slots"
)

func TestDifferenceIsWhatMoves(t *testing.T) {
	of := func(value ...uint8) []Table {
		return []Table{{Sets: []Set{
			{Name: "owners", Size: 3, BySlot: BySlot{Value: value, Values: []Element{{Data: "a"}, {Data: "b"}}}},
			{Name: "ports", Timed: true, Elements: []Element{{Key: "1"}}},
		}}}
	}
	changes, anew, same := difference(of(0, 1, slots.None), of(0, 0, 1))
	require.True(t, same)
	require.Len(t, changes, 1)
	assert.Equal(t, "owners", changes[0].set.Name)
	assert.Equal(t, []uint32{1}, changes[0].gone)
	assert.Equal(t, []uint32{1, 2}, changes[0].put)
	assert.Empty(t, anew)
	changes, anew, same = difference(of(0, 1, 0), of(0, 1, 0))
	assert.True(t, same)
	assert.Empty(t, changes)
	assert.Empty(t, anew)

	other := of(0, 1, 0)
	other[0].Sets[1].Elements = []Element{{Key: "2"}}
	changes, anew, same = difference(of(0, 1, 0), other)
	require.True(t, same)
	require.Len(t, changes, 1)
	assert.Equal(t, []Element{{Key: "1"}}, changes[0].removed)
	assert.Equal(t, []Element{{Key: "2"}}, changes[0].added)
	assert.Empty(t, anew)
}

func TestDifferenceOfMoreThanElements(t *testing.T) {
	tables := func() []Table {
		return []Table{{Family: 2, Sets: []Set{{Name: "s"}}, Chains: []Chain{{Name: "c"}}}, {Family: 10, Sets: []Set{{Name: "s"}}}}
	}
	for name, change := range map[string]func(*Table){
		"sets":   func(t *Table) { t.Sets = nil },
		"set":    func(t *Table) { t.Sets[0].Timed = true },
		"chains": func(t *Table) { t.Chains = nil },
		"chain":  func(t *Table) { t.Chains[0].Priority = 1 },
	} {
		other := tables()
		change(&other[0])
		other[1].Sets[0].Elements = []Element{{Key: "1"}}
		changes, anew, same := difference(tables(), other)
		require.True(t, same, name)
		assert.Equal(t, other[:1], anew, name)
		require.Len(t, changes, 1, name)
		assert.Equal(t, byte(10), changes[0].family, "%s: of the other table only what differs", name)
	}
	other := tables()
	other[0].Family = 5
	_, _, same := difference(tables(), other)
	assert.False(t, same)
	_, _, same = difference(tables(), other[1:])
	assert.False(t, same)
}
