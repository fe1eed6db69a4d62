package raft

import (
	"context"
	"errors"
	"net/netip"
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
		other, ok := tr.begin()
		assert.False(t, ok, "another one goes on")
		tr.end(candidate{}, nil)
		<-other.ended
		assert.False(t, tr.underway())
		assert.False(t, tr.tryBegin(), "one right after the other")
		_, ok = tr.begin()
		assert.True(t, ok, "somebody has asked")
		tr.end(candidate{}, nil)
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

// Another address, or the leader itself, may have begun just before.
func TestNodeHandoverTellsWhatBecameOfTheOneBefore(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		l := newLan(t, 3)
		defer l.stopAll()
		l.settle()
		first, _ := l.await(time.Second)
		tr := &first.node.transfer
		list := tr.gossip.view().candidates(0)
		require.Len(t, list, 2)
		for name, c := range map[string]struct {
			to   string
			led  candidate
			err  error
			want error
		}{
			"it led nowhere":        {err: errors.New("an address could not be released in time"), want: election.ErrTimeout},
			"to whoever is best":    {led: list[0]},
			"to the same one":       {to: list[1].address.String(), led: list[1]},
			"to another one":        {to: list[1].address.String(), led: list[0], want: election.ErrNotActive},
			"the named one got not": {to: list[1].address.String(), err: errors.New("no answer"), want: election.ErrTimeout},
		} {
			_, ok := tr.begin()
			require.True(t, ok)
			found := make(chan error, 1)
			go func() { found <- first.elector.Handover(t.Context(), c.to) }()
			time.Sleep(time.Millisecond)
			require.Empty(t, found, name)
			tr.end(c.led, c.err)
			assert.ErrorIs(t, <-found, c.want, name)
		}
	})
}

// What a node has said last counts for two seconds.
func TestNodeHandsOverToNobodyThatHasJustDied(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		l := newLan(t, 3)
		defer l.stopAll()
		l.settle()
		first, _ := l.await(time.Second)
		dead, ok := best(first.node.gossip.view().candidates(0))
		require.True(t, ok)
		l.isolate(dead.address, true)
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		assert.ErrorIs(t, first.elector.Handover(ctx, dead.address.String()), election.ErrTimeout)
		assert.Equal(t, []*host{first}, l.answering(), "it is where it was")
		moved := make(chan error, 1)
		go func() { moved <- first.elector.Handover(ctx, "") }()
		assert.Less(t, l.watch(time.Second), 100*time.Millisecond, "nobody answers")
		require.NoError(t, <-moved)
		require.Len(t, l.answering(), 1)
		assert.NotContains(t, []netip.Addr{first.self, dead.address}, l.answering()[0].self)
	})
}
