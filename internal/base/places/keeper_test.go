package places

import (
	"fmt"
	"net/netip"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestKeeperTakesFromWhoHasTheMost(t *testing.T) {
	k := New[int](4)
	take := func(owner string, v int) (lost int) {
		got, out := k.Take(owner, v)
		require.NotNil(t, got)
		if out == nil {
			return 0
		}
		return out.Value
	}
	for i := range 3 {
		assert.Zero(t, take("a", 101+i))
	}
	assert.Zero(t, take("b", 201))
	assert.Equal(t, 101, take("c", 301), "a has the most, and loses the oldest")
	assert.Equal(t, 102, take("a", 104), "its own, when it comes again")
	assert.Equal(t, 201, take("b", 202), "its own, where another has no more than it would have")
	assert.Equal(t, Count{Most: 4, Taken: 4, Lost: 3}, k.Count())
}

// However many come, nobody else loses more than what is above an equal share.
func TestKeeperLeavesEachOwnerItsShare(t *testing.T) {
	const most = 100
	k := New[int](most)
	var honest []*Place[int]
	for i := range most / 2 {
		p, lost := k.Take("honest", i)
		require.Nil(t, lost)
		honest = append(honest, p)
	}
	for i := range 10 * most {
		p, _ := k.Take("hostile", i)
		require.NotNil(t, p)
	}
	for _, p := range honest {
		assert.NotNil(t, p.at, "%d", p.Value)
	}
	for i := range 20 {
		_, lost := k.Take(fmt.Sprint("other ", i), i)
		require.NotNil(t, lost)
		assert.Contains(t, []string{"hostile", "honest"}, lost.Owner)
	}
	assert.Equal(t, most, k.Count().Taken)
}

func TestKeeperDoesNotTakeWhatIsKept(t *testing.T) {
	k := New[int](2)
	first, _ := k.Take("a", 1)
	second, _ := k.Take("a", 2)
	first.Keep(true)
	_, lost := k.Take("b", 3)
	assert.Same(t, second, lost)
	first.Keep(false)
	_, lost = k.Take("b", 4)
	require.NotNil(t, lost)
	assert.Equal(t, 3, lost.Value, "its own, where another has as few")
	full := New[int](1)
	kept, _ := full.Take("a", 1)
	kept.Keep(true)
	got, lost := full.Take("b", 2)
	assert.Nil(t, got)
	assert.Nil(t, lost)
	kept.Leave()
	kept.Leave()
	assert.Zero(t, full.Count().Taken)
	got, _ = full.Take("b", 2)
	assert.NotNil(t, got)
}

func TestKeeperResized(t *testing.T) {
	k := New[int](3)
	for i := range 3 {
		k.Take("a", i)
	}
	lost := k.Resize(1)
	require.Len(t, lost, 2)
	assert.Equal(t, 0, lost[0].Value)
	assert.Equal(t, Count{Most: 1, Taken: 1, Lost: 2}, k.Count())
}

func TestHostIsOneWhereOneHostHasAllAddresses(t *testing.T) {
	for give, want := range map[string]string{
		"127.0.0.1": "this host", "127.99.3.4": "this host", "::1": "this host", "::ffff:127.0.0.9": "this host",
		"10.0.0.7": "10.0.0.7", "::ffff:10.0.0.7": "10.0.0.7",
		"2001:db8::1": "2001:db8::/64", "2001:db8::ffff:1": "2001:db8::/64", "2001:db8:0:1::1": "2001:db8:0:1::/64", "fe80::1%lo": "fe80::/64",
	} {
		assert.Equal(t, want, Host(netip.MustParseAddr(give)), give)
	}
}
