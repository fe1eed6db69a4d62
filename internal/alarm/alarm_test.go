package alarm

import (
	"context"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// byHand is a source that a test fires.
type byHand struct {
	after   time.Duration
	running bool
	sets    int
}

func (s *byHand) set(after time.Duration) { s.after, s.running = after, true; s.sets++ }
func (s *byHand) stop()                   { s.running = false }
func (s *byHand) close() error            { return nil }

func (s *byHand) ring(c *Clock) { s.running = false; c.fire() }

func rang(t *Timer) bool {
	select {
	case <-t.C:
		return true
	default:
		return false
	}
}

func TestClockIsSetToTheFirstTimer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &byHand{}
		c := &Clock{source: s}
		now := time.Now()
		a, b, d := c.Timer(), c.Timer(), c.Timer()
		a.Set(now.Add(3 * time.Second))
		assert.Equal(t, 3*time.Second, s.after)
		b.Set(now.Add(time.Second))
		d.Set(now.Add(time.Second))
		assert.Equal(t, time.Second, s.after)
		assert.Equal(t, 2, s.sets, "what is not first changes nothing")
		time.Sleep(time.Second)
		s.ring(c)
		assert.True(t, rang(b))
		assert.True(t, rang(d), "both at once")
		assert.False(t, rang(a))
		assert.Equal(t, 2*time.Second, s.after)
		a.Set(now)
		assert.Equal(t, time.Duration(1), s.after, "what has passed comes at once")
		s.ring(c)
		assert.True(t, rang(a))
		assert.False(t, s.running)
	})
}

func TestTimerHasSentNothingAfterSetOrStop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &byHand{}
		c := &Clock{source: s}
		a := c.Timer()
		a.Set(time.Now())
		s.ring(c)
		a.Set(time.Now().Add(time.Second))
		assert.False(t, rang(a))
		time.Sleep(time.Second)
		s.ring(c)
		a.Stop()
		assert.False(t, rang(a))
		a.Stop()
		a.Set(time.Now().Add(time.Second))
		a.Stop()
		assert.False(t, s.running)
		time.Sleep(time.Second)
		s.ring(c)
		assert.False(t, rang(a))
	})
}

func TestClockThatIsClosedRingsNoMore(t *testing.T) {
	c, err := Open()
	require.NoError(t, err)
	a, b := c.Timer(), c.Timer()
	a.Set(time.Now().Add(20 * time.Millisecond))
	require.NoError(t, c.Close())
	b.Set(time.Now())
	a.Stop()
	time.Sleep(50 * time.Millisecond)
	assert.False(t, rang(a))
	assert.False(t, rang(b))
}

// The kernel's timers end when they have to: never early, and all of them.
func TestKernelTimersEnd(t *testing.T) {
	c, err := Open()
	require.NoError(t, err)
	var wg sync.WaitGroup
	for range 40 {
		wg.Go(func() {
			timer := c.Timer()
			defer timer.Stop()
			for range 20 {
				at := time.Now().Add(time.Duration(rand.IntN(20_000)-1000) * time.Microsecond)
				timer.Set(at.Add(time.Hour))
				timer.Set(at)
				select {
				case <-timer.C:
					assert.False(t, time.Now().Before(at))
				case <-time.After(30 * time.Second):
					assert.Fail(t, "a timer did not end")
					return
				}
			}
		})
	}
	wg.Wait()
	assert.Empty(t, c.running)
	require.NoError(t, c.Close())
}

func TestNoClockIsPackageTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var c *Clock
		a, began := c.Timer(), time.Now()
		assert.False(t, rang(a))
		a.Set(began.Add(time.Second))
		a.Set(began.Add(time.Minute))
		<-a.C
		assert.Equal(t, time.Minute, time.Since(began))
		a.Set(began.Add(time.Hour))
		a.Stop()
		ctx, cancel := c.WithTimeout(t.Context(), time.Second)
		defer cancel()
		<-ctx.Done()
		assert.ErrorIs(t, ctx.Err(), context.DeadlineExceeded)
		assert.NoError(t, c.Close())
	})
}

func TestContextEnds(t *testing.T) {
	c, err := Open()
	require.NoError(t, err)
	defer func() { require.NoError(t, c.Close()) }()

	ctx, cancel := c.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	at, ok := ctx.Deadline()
	assert.True(t, ok)
	require.NoError(t, ctx.Err())
	<-ctx.Done()
	assert.False(t, time.Now().Before(at))
	assert.ErrorIs(t, ctx.Err(), context.DeadlineExceeded)

	ctx, cancel = c.WithTimeout(t.Context(), time.Hour)
	cancel()
	<-ctx.Done()
	assert.ErrorIs(t, ctx.Err(), context.Canceled)

	parent, end := context.WithTimeout(t.Context(), time.Minute)
	defer end()
	want, _ := parent.Deadline()
	ctx, cancel = c.WithTimeout(parent, time.Hour)
	defer cancel()
	at, _ = ctx.Deadline()
	assert.Equal(t, want, at, "the sooner deadline counts")
}
