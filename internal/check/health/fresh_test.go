package health

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/keepvip/keepvip/internal/base/bubble"
	"github.com/keepvip/keepvip/internal/config"
)

func TestCheckerFreshIsNotTheProbeThatRuns(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		slow := step{Result: Result{Outcome: Pass, Reason: "before"}, takes: 100 * time.Millisecond}
		s := &script{steps: []step{slow, fail, pass}}
		run(t, s, given(config.ListedCheck{Interval: time.Second}), 3*time.Second, func(c *Checker) {
			time.Sleep(50 * time.Millisecond) // the first probe is under way
			r, err := c.Fresh(t.Context())
			require.NoError(t, err)
			assert.Equal(t, "500", r.Reason, "the second")
			assert.Len(t, s.begun(), 2)
			at := time.Now()
			r, err = c.Fresh(t.Context())
			require.NoError(t, err)
			assert.Equal(t, "200", r.Reason)
			assert.Equal(t, 5*time.Millisecond, time.Since(at), "at once")
		})
	})
}

func TestCheckerFreshEndsWithItsContext(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		c, err := newChecker(&script{steps: []step{pass}}, given(config.ListedCheck{}), slog.New(slog.DiscardHandler))
		require.NoError(t, err)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err = c.Fresh(ctx)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		assert.Empty(t, c.probing.waiters.take())
	})
}
