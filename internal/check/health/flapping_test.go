package health

import (
	"log/slog"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/keepvip/keepvip/internal/base/bubble"
	"github.com/keepvip/keepvip/internal/base/code"
	"github.com/keepvip/keepvip/internal/config"
)

func TestOnceDoesNotCount(t *testing.T) {
	c, err := newChecker(&script{steps: []step{{Result: pass.Result}}}, given(config.ListedCheck{}), slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	assert.Equal(t, pass.Result, c.Once(t.Context()))
	assert.Zero(t, c.Verdict())
}

func TestFirstRefusalIsLookedAtTwiceAtOnce(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		s := &script{steps: []step{down}}
		reports, at := run(t, s, given(config.ListedCheck{Interval: time.Minute}), time.Second, nil)
		require.Len(t, reports, 2)
		assert.Equal(t, []State{Unknown, Unhealthy}, []State{reports[0].State, reports[1].State})
		assert.Zero(t, at[1])
	})
}

func TestFlappingIsReported(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		s := &script{steps: []step{pass, down, pass, pass, down, pass}}
		reports, at := run(t, s, given(config.ListedCheck{Interval: 100 * time.Millisecond}), 10*time.Second, nil)
		require.Len(t, reports, 6)
		assert.Empty(t, reports[1].Hint)
		assert.Equal(t, "flapping, unhealthy 2 times lately: 32 good probes make it healthy", reports[3].Hint)
		assert.InDelta(t, 3.2, (at[5] - at[3]).Seconds(), 0.5)
		assert.Equal(t, code.CheckFlaps, reports[4].Code, "it passes, and is damped")
		assert.Equal(t, 2, reports[5].Falls)
	})
}
