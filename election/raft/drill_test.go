package raft

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/keepvip/keepvip/election"
	"github.com/keepvip/keepvip/internal/base/bubble"
)

// A leader that stands still is replaced, two never answer, it follows when it goes on, and leads again when it asks.
func TestNodeThatStandsStillIsReplacedAndTakesTheAddressBack(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		l := newLan(t, 3)
		defer l.stopAll()
		l.bootAll()
		first, _ := l.await(5 * time.Second)
		time.Sleep(5 * time.Second)
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
		defer cancel()
		ended := make(chan error, 1)
		go func() { ended <- first.elector.StandStill(ctx) }()
		silent := l.watch(1900 * time.Millisecond)
		t.Log("silent for", silent)
		assert.Less(t, silent, 2*time.Second)
		second, _ := l.await(time.Second)
		require.NotEqual(t, first, second)
		require.Empty(t, ended, "it goes on when its time is over")
		l.watch(time.Second)
		require.NoError(t, <-ended)
		assert.Equal(t, election.Backup, first.elector.state())

		l.watch(2 * time.Second)
		back, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		go func() { ended <- first.elector.TakeBack(back) }()
		assert.Less(t, l.watch(3*time.Second), 300*time.Millisecond)
		require.NoError(t, <-ended)
		third, _ := l.await(time.Second)
		assert.Equal(t, first, third)
	})
}

func TestTakeBackFailsForANodeThatIsNotFit(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		l := newLan(t, 3)
		defer l.stopAll()
		l.bootAll()
		first, _ := l.await(5 * time.Second)
		time.Sleep(5 * time.Second)
		for _, h := range l.hosts {
			if h == first {
				continue
			}
			h.fit(election.Fitness{Less: 255, Reason: "the health check fails"})
			time.Sleep(2 * time.Second)
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			err := h.elector.TakeBack(ctx)
			cancel()
			require.ErrorIs(t, err, election.ErrTimeout)
			assert.ErrorContains(t, err, "you are no fit voter")
		}
		same, _ := l.await(time.Second)
		assert.Equal(t, first, same)
	})
}
