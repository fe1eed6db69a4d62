package spread

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/keepvip/keepvip/internal/config"
	"github.com/keepvip/keepvip/internal/serve/instance"
)

// finished has what was spread turned off, and come to its end.
func finished(t *testing.T, b *bench) {
	t.Helper()
	b.holds(11)
	b.begin()
	time.Sleep(settle)
	b.off()
	time.Sleep(leastEnding + countEvery + tick)
	require.True(t, b.service.Finished())
}

// Its instance goes on to tell it of the host, each five seconds for as long as the process lives.
func TestServiceThatHasFinishedKeepsNothingOfWhatItIsTold(t *testing.T) {
	inBubble(t, spreadOne(), func(t *testing.T, b *bench) {
		finished(t, b)
		for range 100 {
			b.service.HostChanged(instance.Place{Index: 2})
		}
		b.begin()
		b.service.End()
		assert.Empty(t, b.service.queue.take())
		assert.False(t, b.reconfigure(spreadOne()), "whoever wants to spread again needs another one")
	})
}

func TestServiceThatHasFinishedHasNoConnectionsToWaitFor(t *testing.T) {
	inBubble(t, spreadOne(), func(t *testing.T, b *bench) {
		finished(t, b)
		b.service.Drain(time.Now().Add(time.Minute))
		busy, _ := b.service.Draining()
		assert.False(t, busy)
	})
}

// Two reloads may come while the kernel is busy, or while there is no election.
func TestServiceTurnedOffAndOnBeforeItLooks(t *testing.T) {
	inBubble(t, spreadOne(), func(t *testing.T, b *bench) {
		off := spreadOne()
		off.Spread.Via = config.ViaOff
		require.True(t, b.reconfigure(off))
		require.True(t, b.reconfigure(spreadOne()))
		synctest.Wait()
		require.False(t, b.service.Finished())
		b.begin()
		time.Sleep(settle)
		assert.Equal(t, map[string]int{"10.77.0.11 fit": 120}, b.shares())
	})
}

// Nobody sends anything to a node between its terms, and its status does not say otherwise.
func TestServiceBetweenTermsSaysSo(t *testing.T) {
	inBubble(t, spreadOne(), func(t *testing.T, b *bench) {
		b.begin()
		time.Sleep(settle)
		require.Empty(t, b.service.Status().Spread.Problem)
		b.service.End()
		synctest.Wait()
		assert.Equal(t, "not in the election", b.service.Status().Spread.Problem)
		b.begin()
		synctest.Wait()
		assert.Equal(t, "the members are not known yet", b.service.Status().Spread.Problem)
		time.Sleep(settle)
		assert.Empty(t, b.service.Status().Spread.Problem)
	})
}

func TestServiceCloseWaitsForWhoCounts(t *testing.T) {
	inBubble(t, spreadOne(), func(t *testing.T, b *bench) {
		b.begin()
		time.Sleep(settle)
		dump := make(chan struct{})
		b.onHost(func(h *fakeHost) { h.dump = dump })
		time.Sleep(countEvery + tick)
		b.onHost(func(h *fakeHost) { h.dump = nil }) // of the one that Close makes
		closed := make(chan struct{})
		go func() { defer close(closed); assert.NoError(t, b.service.Close()) }()
		synctest.Wait()
		assert.True(t, b.host.plane("api").closed, "what it leaves it has taken away")
		select {
		case <-closed:
			t.Error("a goroutine without an owner")
		default:
		}
		close(dump)
		<-closed
	})
}
