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

func TestTransferOneAtATime(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		tr := &newNode(Config{Self: addr(0), Heartbeat: 500 * time.Millisecond}).transfer
		require.True(t, tr.tryBegin())
		assert.True(t, tr.underway())
		ended, ok := tr.begin()
		assert.False(t, ok, "another one goes on")
		tr.end()
		<-ended
		assert.False(t, tr.underway())
		assert.False(t, tr.tryBegin(), "one right after the other")
		_, ok = tr.begin()
		assert.True(t, ok, "somebody has asked")
		tr.end()
		time.Sleep(2 * time.Second)
		assert.True(t, tr.tryBegin())
	})
}

// A drain or a hold asks for a handover, too. An address that goes to a node without a healthy apiserver serves nobody.
func TestNodeHandsOverToNobodyThatIsUnfit(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		l := newLan(t, 3)
		defer l.stopAll()
		l.settle()
		first, _ := l.await(time.Second)
		for _, h := range l.hosts {
			if h != first {
				h.fit(election.Fitness{Less: 255, Reason: "unhealthy"})
			}
		}
		l.watch(2 * time.Second)
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		for _, to := range []string{"", addr(0).String(), addr(1).String(), addr(2).String()} {
			if to != first.self.String() {
				require.ErrorIs(t, first.elector.Handover(ctx, to), election.ErrNoTaker, to)
			}
		}
		l.watch(2 * time.Second)
		assert.Equal(t, []*host{first}, l.answering(), "it is where it was")
	})
}
