package spread

import (
	"errors"
	"net/netip"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/keepvip/keepvip/election"
)

func (b *bench) busy() bool {
	synctest.Wait()
	busy, _ := b.service.Draining()
	return busy
}

// set changes what the host does.
func (b *bench) onHost(change func(*fakeHost)) {
	b.host.mu.Lock()
	defer b.host.mu.Unlock()
	change(b.host)
}

// Until the others have heard of it they go on sending new connections here.
func TestServiceDrainWaitsUntilTheOthersKnow(t *testing.T) {
	inBubble(t, spreadOne(), func(t *testing.T, b *bench) {
		b.begin()
		time.Sleep(settle + time.Second)
		b.service.Drain(time.Now().Add(time.Minute))
		assert.True(t, b.busy())
		time.Sleep(leastSettle - time.Millisecond)
		assert.True(t, b.busy(), "one may have come in since")
		b.connected("api", 1)
		time.Sleep(2 * countDraining)
		assert.True(t, b.busy(), "one has")
		b.connected("api", 0)
		time.Sleep(countDraining + tick)
		assert.False(t, b.busy())
	})
}

// The kubelet of a control plane stays connected to the address, and that may be to this node.
func TestServiceDrainDoesNotWaitForConnectionsOfThisNodeItself(t *testing.T) {
	inBubble(t, spreadOne(), func(t *testing.T, b *bench) {
		b.begin()
		time.Sleep(settle)
		b.connected("api", 3)
		b.onHost(func(h *fakeHost) { h.planes["api"].own = 2 })
		b.service.Drain(time.Now().Add(time.Minute))
		time.Sleep(leastSettle + 2*countDraining)
		assert.True(t, b.busy())
		b.connected("api", 2)
		time.Sleep(2 * countDraining)
		assert.False(t, b.busy())
		assert.Equal(t, uint32(2), b.service.Status().Spread.Members[0].Connections, "they are there all the same")
	})
}

// A follower's connections come to the member's own address: only the follower knows them.
func TestServiceDrainWaitsForTheConnectionsOfFollowers(t *testing.T) {
	f := &fakeFollowers{}
	cfg := spreadOne()
	cfg.followers = f
	inBubble(t, cfg, func(t *testing.T, b *bench) {
		b.begin()
		time.Sleep(settle)
		f.say(0)
		time.Sleep(time.Second)
		b.service.Drain(time.Now().Add(time.Minute))
		time.Sleep(leastSettle + 2*countDraining)
		assert.True(t, b.busy(), "it has not counted since")
		f.say(30)
		time.Sleep(2 * countDraining)
		assert.True(t, b.busy())
		f.say(0)
		time.Sleep(countDraining + tick)
		assert.False(t, b.busy())
		require.NoError(t, b.service.Close())
	})
}

// The followers' key is good for asking. What its owner invents holds up no drain.
func TestServiceDrainDoesNotWaitForConnectionsThatAFollowerInvents(t *testing.T) {
	f := &fakeFollowers{}
	cfg := spreadOne()
	cfg.followers = f
	inBubble(t, cfg, func(t *testing.T, b *bench) {
		b.begin()
		time.Sleep(settle)
		has := func(direct map[netip.Addr]int) { b.onHost(func(h *fakeHost) { h.direct = direct }) }
		has(map[netip.Addr]int{addr(50): 2, addr(51): 7})
		f.say(4_000_000)
		b.service.Drain(time.Now().Add(time.Minute))
		time.Sleep(leastSettle + 2*countDraining)
		f.say(4_000_000)
		time.Sleep(2 * countDraining)
		assert.True(t, b.busy(), "some are there")
		has(map[netip.Addr]int{addr(51): 7})
		f.say(4_000_000)
		time.Sleep(2 * countDraining)
		assert.False(t, b.busy(), "those of another host are not its own")
		has(map[netip.Addr]int{netip.MustParseAddr("fd77::9"): 1})
		time.Sleep(2 * countDraining)
		assert.True(t, b.busy(), "its address of the other family is not known")
		has(map[netip.Addr]int{})
		time.Sleep(2 * countDraining)
		assert.False(t, b.busy())
		require.NoError(t, b.service.Close())
	})
}

// What an earlier run has left has connections before this one knows the members.
func TestServiceDrainWaitsUntilTheMembersAreKnown(t *testing.T) {
	inBubble(t, spreadOne(), func(t *testing.T, b *bench) {
		b.begin()
		b.service.Drain(time.Now().Add(time.Minute))
		assert.True(t, b.busy())
		time.Sleep(settle + 2*countDraining)
		assert.False(t, b.busy())
	})
}

// Where the kernel does not say how many there are nobody says that there are none.
func TestServiceDrainDoesNotTakeUncountedForNone(t *testing.T) {
	inBubble(t, spreadOne(), func(t *testing.T, b *bench) {
		b.begin()
		time.Sleep(settle)
		b.onHost(func(h *fakeHost) { h.uncounted = errors.New("no buffer space") })
		b.service.Drain(time.Now().Add(time.Minute))
		time.Sleep(5 * time.Second)
		assert.True(t, b.busy())
		b.onHost(func(h *fakeHost) { h.uncounted = nil })
		time.Sleep(countDraining + tick)
		assert.False(t, b.busy())
	})
}

// Connections end also while the kernel refuses a change.
func TestServiceDrainEndsWhileTheKernelRefuses(t *testing.T) {
	inBubble(t, spreadOne(), func(t *testing.T, b *bench) {
		b.member(12, true)
		b.begin()
		time.Sleep(settle)
		b.connected("api", 1)
		b.service.Drain(time.Now().Add(time.Minute))
		b.onHost(func(h *fakeHost) { h.broken = errors.New("busy") })
		b.member(12, false)
		time.Sleep(2 * time.Second)
		assert.True(t, b.busy())
		b.connected("api", 0)
		time.Sleep(countDraining + tick)
		assert.False(t, b.busy())
		b.onHost(func(h *fakeHost) { h.broken = nil })
	})
}

// The connections of a dead host are nobody's.
func TestServiceCountsNoConnectionsOfTheDead(t *testing.T) {
	inBubble(t, spreadOne(), func(t *testing.T, b *bench) {
		b.host.set(addr(12), true)
		s := said(true)
		s.Ports[0].Connections = 7
		b.elector.set(election.Member{Address: addr(12), Spread: s, Fit: new(true)})
		b.begin()
		time.Sleep(settle)
		assert.Equal(t, uint32(7), b.service.Status().Spread.Connections())
		b.elector.remove(addr(12))
		time.Sleep(time.Second)
		assert.Contains(t, b.shares(), "10.77.0.12 keeps")
		assert.Equal(t, uint32(7), b.service.Status().Spread.Connections(), "its keepvip is silent")
		b.host.set(addr(12), false)
		time.Sleep(2 * time.Second)
		assert.Contains(t, b.shares(), "10.77.0.12 dead")
		assert.Zero(t, b.service.Status().Spread.Connections())
	})
}

// When the time is over there are still connections. Who waits is told so, and not that they have ended.
func TestServiceDrainThatIsOverHasConnections(t *testing.T) {
	inBubble(t, spreadOne(), func(t *testing.T, b *bench) {
		b.begin()
		time.Sleep(settle)
		b.connected("api", 1)
		dump := make(chan struct{})
		b.onHost(func(h *fakeHost) { h.dump = dump })
		b.service.Drain(time.Now().Add(countDraining))
		time.Sleep(countDraining + tick)
		close(dump) // the count takes as long as that
		assert.True(t, b.busy())
		b.service.Drain(time.Time{})
		time.Sleep(countEvery + tick)
		assert.False(t, b.busy(), "nobody waits")
	})
}
