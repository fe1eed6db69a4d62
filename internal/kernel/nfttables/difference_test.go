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
	changes, same := difference(of(0, 1, slots.None), of(0, 0, 1))
	require.True(t, same)
	require.Len(t, changes, 1)
	assert.Equal(t, "owners", changes[0].set.Name)
	assert.Equal(t, []uint32{1}, changes[0].gone)
	assert.Equal(t, []uint32{1, 2}, changes[0].put)
	changes, same = difference(of(0, 1, 0), of(0, 1, 0))
	assert.True(t, same)
	assert.Empty(t, changes)

	other := of(0, 1, 0)
	other[0].Sets[1].Elements = []Element{{Key: "2"}}
	changes, same = difference(of(0, 1, 0), other)
	require.True(t, same)
	require.Len(t, changes, 1)
	assert.Equal(t, []Element{{Key: "1"}}, changes[0].removed)
	assert.Equal(t, []Element{{Key: "2"}}, changes[0].added)
}

func TestDifferenceOfMoreThanElements(t *testing.T) {
	table := func() []Table { return []Table{{Family: 2, Sets: []Set{{Name: "s"}}, Chains: []Chain{{Name: "c"}}}} }
	for name, change := range map[string]func(*Table){
		"family": func(t *Table) { t.Family = 10 },
		"sets":   func(t *Table) { t.Sets = nil },
		"set":    func(t *Table) { t.Sets[0].Timed = true },
		"chains": func(t *Table) { t.Chains = nil },
		"chain":  func(t *Table) { t.Chains[0].Priority = 1 },
	} {
		other := table()
		change(&other[0])
		_, same := difference(table(), other)
		assert.False(t, same, name)
	}
	_, same := difference(table(), nil)
	assert.False(t, same)
}
