//go:build netns

package fence

import (
	"maps"
	"net/netip"
	"os/exec"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/keepvip/keepvip/internal/kernel/nfttables"
)

// On a kernel where nobody can own a table, one that somebody takes away is there again before anybody looks, with what
// is left of the lease.
func TestFenceIsMadeAnewWhenOthersTakeItAway(t *testing.T) {
	onAnOlderKernel(t)
	w := newWire(t)
	watch, err := nfttables.OpenWatch()
	require.NoError(t, err)
	defer watch.Close()
	links := NewLinks(func(int) []netip.Addr { return nil }, watch)
	join := func(vip, own netip.Addr) *Share {
		s, err := links.Join(w.index, "eth0", Group{Addresses: []netip.Addr{vip}, Advert: Advert{Source: own, VRID: 51}, Lease: long, Guard: 2 * long}, false)
		require.NoError(t, err)
		require.NoError(t, s.Hold())
		return s
	}
	four, six := join(vip4, w.own4), join(vip6, w.own6)
	defer func() { assert.NoError(t, four.Close()); assert.NoError(t, six.Close()) }()
	require.True(t, four.Told())
	var told atomic.Int32
	four.Follow(func() time.Time { return time.Now().Add(time.Minute) }, func() { told.Add(1) })
	six.Follow(func() time.Time { return time.Time{} }, func() { told.Add(1) })
	w.advertiseBoth()
	w.all(true, "both have a lease")
	f := four.fence
	for i, command := range []string{
		"flush ruleset",
		"delete table netdev " + tableName(w.index),
		"delete table arp " + tableName(w.index),
		"flush ruleset; add table netdev " + tableName(w.index),
	} {
		f.mu.Lock()
		before := f.kernel.made
		f.mu.Unlock()
		require.NoError(t, exec.Command("nft", command).Run(), command)
		w.holder.Eventually(func() bool { return told.Load() >= int32(2*(i+1)) }, command+": both are told")
		w.holder.Eventually(func() bool {
			f.mu.Lock()
			defer f.mu.Unlock()
			return !maps.Equal(before, f.kernel.made)
		}, command+": it is made anew")
		require.NoError(t, four.Verify(0, true), command)
	}
	assert.True(t, w.does(w.answers, vip4))
	assert.False(t, w.answers(vip6), "its lease was over")

	// Rules of a chain that is there yet are looked at less often.
	w.holder.Eventually(func() bool { return time.Since(four.fence.looks.at) > contentsEvery }, "some time")
	require.NoError(t, exec.Command("nft", "flush chain netdev "+tableName(w.index)+" ingress").Run())
	w.holder.Eventually(func() bool { return told.Load() >= 10 }, "a chain without its rules")
	require.NoError(t, four.Verify(0, true))
}
