package address

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/keepvip/keepvip/election"
)

const awayLease = 290 * time.Millisecond

// serving runs a test on a node that holds the addresses, with a whole lease before it at any time: its elector goes on
// advertising whatever becomes of the link.
func serving(t *testing.T, test func(t *testing.T, b *bench, e *fakeElector)) {
	t.Helper()
	run(t, nil, func(in *entry) { in.Lease = awayLease }, func(t *testing.T, b *bench) {
		e := <-b.electors
		e.mu.Lock()
		e.lease = awayLease
		e.mu.Unlock()
		require.NoError(t, e.decide(election.Serve, nodeA))
		b.host.take()
		test(t, b, e)
	})
}

func (b *bench) change(change func(*fakeHost)) {
	b.host.set(change)
	b.HostChanged()
	synctest.Wait()
}

func down(h *fakeHost) { h.err = assert.AnError }

func TestHolderWithoutLinkGivesUpBeforeItsLeaseIsOver(t *testing.T) {
	serving(t, func(t *testing.T, b *bench, e *fakeElector) {
		b.change(down)
		assert.Empty(t, b.host.take(), "the link may be back in a moment")
		time.Sleep(awayLease / 3)
		b.HostChanged() // for another reason
		synctest.Wait()
		assert.Empty(t, b.host.take())
		time.Sleep(awayLease / 4)
		synctest.Wait()
		assert.Equal(t, []string{"del 10.77.0.100/32 2", "del fd77::100/128 2"}, b.host.take())
		<-e.ended
		assert.ErrorIs(t, e.cause, election.ErrCutOff)
		assert.Empty(t, b.electors)
	})
}

func TestHolderWhoseLinkIsBackInTimeListensBeforeItAnnounces(t *testing.T) {
	serving(t, func(t *testing.T, b *bench, e *fakeElector) {
		b.change(down)
		time.Sleep(awayLease / 3)
		b.change(func(h *fakeHost) { h.err = nil; h.place.Stay += 2; h.bound = h.bound[:1] })
		assert.Equal(t, []string{"add fd77::100/128 2"}, b.host.take(), "the kernel has removed it with the link")
		time.Sleep(awayLease/2 - time.Millisecond)
		assert.Empty(t, b.host.take())
		time.Sleep(time.Millisecond)
		synctest.Wait()
		assert.Equal(t, []string{"announce 2"}, b.host.take())
		time.Sleep(time.Second)
		assert.Empty(t, b.electors, "no new election")
	})
}

func TestHolderWhoseLinkWasGoneUnseenYieldsBeforeItAnnounces(t *testing.T) {
	serving(t, func(t *testing.T, b *bench, e *fakeElector) {
		b.change(func(h *fakeHost) { h.place.Stay += 2 })
		time.Sleep(awayLease / 3)
		require.NoError(t, e.decide(election.Standby, nodeB))
		time.Sleep(time.Minute)
		assert.NotContains(t, b.host.take(), "announce 2")
		require.NoError(t, e.decide(election.Serve, nodeA))
		assert.Contains(t, b.host.take(), "announce 2", "at once")
	})
}

func TestHolderThatWasGrantedTheAddressAnnouncesAtOnceAfterAChangeOfTheLink(t *testing.T) {
	serving(t, func(t *testing.T, b *bench, e *fakeElector) {
		require.NoError(t, e.decide(election.Standby, nodeB))
		b.host.take()
		b.change(func(h *fakeHost) { h.place.Stay += 2 })
		require.NoError(t, e.decide(election.Serve, nodeA))
		assert.Contains(t, b.host.take(), "announce 2")
	})
}

func TestBackupWithoutLinkLeavesAtOnce(t *testing.T) {
	run(t, nil, func(in *entry) { in.Lease = awayLease }, func(t *testing.T, b *bench) {
		e := <-b.electors
		require.NoError(t, e.decide(election.Standby, nodeB))
		b.change(down)
		<-e.ended
		assert.NotErrorIs(t, e.cause, context.Canceled)
	})
}
