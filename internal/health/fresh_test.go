package health

import (
	"context"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestFreshLooksAfterItWasAskedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slow := step{Result: pass.Result, takes: 500 * time.Millisecond}
		s := &script{steps: []step{slow, fail, pass}}
		run(t, s, Config{Interval: time.Minute}, 30*time.Second, func(c *Checker) {
			time.Sleep(100 * time.Millisecond)
			v := c.Fresh(t.Context())
			assert.Equal(t, Fail, v.Outcome, "not the result of the look that was under way")
			assert.Equal(t, Healthy, v.State, "one failure does not count by itself")
			assert.Equal(t, 1, v.Streak)
			v = c.Fresh(t.Context())
			assert.Equal(t, Pass, v.Outcome)
			assert.Len(t, s.begun(), 3)
		})
	})
}

func TestFreshEndsWithItsContextAndWithRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &script{steps: []step{pass, hang}}
		var checker *Checker
		run(t, s, Config{Interval: time.Minute, Timeout: 10 * time.Second}, 20*time.Second, func(c *Checker) {
			checker = c
			time.Sleep(time.Second)
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			start := time.Now()
			v := c.Fresh(ctx)
			assert.Equal(t, time.Second, time.Since(start))
			assert.Equal(t, Fail, v.Outcome)
			assert.Equal(t, "no fresh result in time", v.Reason)
		})
		assert.Equal(t, Fail, checker.Fresh(t.Context()).Outcome, "Run has returned")
	})
}

func TestFreshWaitsForRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, err := NewChecker(&script{steps: []step{pass}}, Config{}, slog.New(slog.DiscardHandler))
		require.NoError(t, err)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		assert.Equal(t, Fail, c.Fresh(ctx).Outcome, "nobody runs it")
	})
}

func TestFreshOfAlways(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := Always()
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() { defer close(done); c.Run(ctx, func(Verdict) {}) }()
		assert.Equal(t, Pass, c.Fresh(t.Context()).Outcome)
		cancel()
		<-done
	})
}

func TestOnceDoesNotCount(t *testing.T) {
	c, err := NewChecker(&script{steps: []step{{Result: pass.Result}}}, Config{}, slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	assert.Equal(t, pass.Result, c.Once(t.Context()))
	assert.Zero(t, c.Verdict())
}

func TestFirstRefusalIsLookedAtTwiceAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &script{steps: []step{down}}
		reports, at := run(t, s, Config{Interval: time.Minute}, time.Second, nil)
		require.Len(t, reports, 2)
		assert.Equal(t, []State{Unknown, Unhealthy}, []State{reports[0].State, reports[1].State})
		assert.Zero(t, at[1])
	})
}

func TestFlappingIsReported(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &script{steps: []step{pass, down, pass, pass, down, pass}}
		reports, at := run(t, s, Config{Interval: 100 * time.Millisecond}, 10*time.Second, nil)
		require.Len(t, reports, 5)
		assert.Empty(t, reports[1].Hint)
		assert.Equal(t, "flapping, ill 2 times lately: 32 good probes in a row make it healthy", reports[3].Hint)
		assert.InDelta(t, 3.2, (at[4] - at[3]).Seconds(), 0.5)
		assert.Equal(t, 2, reports[4].Falls)
	})
}
