package health

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/keepvip/keepvip/internal/base/bubble"
	"github.com/keepvip/keepvip/internal/config"
)

// neighbour is a Neighbour that answers while present, and counts.
type neighbour struct {
	away   atomic.Bool
	err    error
	asked  int
	closed int
	silent time.Time
}

func (n *neighbour) Ask(ctx context.Context) (string, error) {
	n.asked++
	switch {
	case n.err != nil:
		return "", n.err
	case !n.away.Load():
		return "10.0.0.1 is at 02:00:00:00:00:01 on eth0", nil
	}
	if n.silent.IsZero() {
		n.silent = time.Now()
	}
	<-ctx.Done()
	return "", fmt.Errorf("10.0.0.1 on eth0: %w", ErrNoAnswer)
}

func (n *neighbour) Close() error { n.closed++; return nil }

func absent() *neighbour {
	n := &neighbour{}
	n.away.Store(true)
	return n
}

func TestGatewayOnce(t *testing.T) {
	tests := []struct {
		name string
		give *neighbour
		want Result
	}{
		{"answers", &neighbour{}, Result{Outcome: Pass, Reason: "10.0.0.1 is at 02:00:00:00:00:01 on eth0"}},
		{"is silent", absent(), Result{Outcome: Fail, Reason: "10.0.0.1 on eth0: no answer within 600ms"}},
		{"cannot be asked", &neighbour{err: errors.New("eth0 has no default route")}, Result{Outcome: Fail, Reason: "eth0 has no default route", Hint: "the check cannot run"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			bubble.Test(t, func(t *testing.T) {
				c, err := newChecker(Gateway(tt.give, given(config.ListedCheck{})), given(config.ListedCheck{}), slog.New(slog.DiscardHandler))
				require.NoError(t, err)
				assert.Equal(t, tt.want, c.Once(t.Context()))
				assert.Equal(t, 1, tt.give.closed, "nothing is left open")
			})
		})
	}
}

func TestGatewayIsCountedAndComesBack(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		n := &neighbour{}
		c, err := newChecker(Gateway(n, given(config.ListedCheck{})), given(config.ListedCheck{}), slog.New(slog.DiscardHandler))
		require.NoError(t, err)
		ctx, cancel := context.WithCancel(t.Context())
		var states []State
		var at []time.Time
		done := make(chan struct{})
		go func() {
			defer close(done)
			c.Run(ctx, func(v Verdict) { states, at = append(states, v.State), append(at, time.Now()) })
		}()
		time.Sleep(5 * time.Second)
		n.away.Store(true)
		time.Sleep(5 * time.Second)
		n.away.Store(false)
		time.Sleep(5 * time.Second)
		cancel()
		<-done
		assert.Equal(t, []State{Healthy, Unhealthy, Healthy}, states)
		assert.InDelta(t, 1.8, at[1].Sub(n.silent).Seconds(), 0.2, "three times the timeout")
		assert.Equal(t, 1, n.closed, "kept open from question to question")
		assert.Greater(t, n.asked, 30)
	})
}
