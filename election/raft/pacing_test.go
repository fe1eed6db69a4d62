package raft

import (
	"sync"
	"testing"
	"time"

	"github.com/hashicorp/raft"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/keepvip/keepvip/internal/base/bubble"
)

func TestTransportSpacesHeartbeats(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		tr := newSlow(0)
		every := beat(500 * time.Millisecond)
		began := time.Now()
		for range 5 {
			require.NoError(t, tr.AppendEntries("b", "b", &raft.AppendEntriesRequest{Term: 4}, &raft.AppendEntriesResponse{}))
		}
		assert.Equal(t, 4*every, time.Since(began))
		assert.Equal(t, time.Now(), tr.since(4, []raft.ServerID{"a", "b", "c"}))
		began = time.Now()
		require.NoError(t, tr.AppendEntries("b", "b", &raft.AppendEntriesRequest{Term: 4, PrevLogEntry: 1}, &raft.AppendEntriesResponse{}))
		require.NoError(t, tr.AppendEntries("c", "c", &raft.AppendEntriesRequest{Term: 4}, &raft.AppendEntriesResponse{}))
		assert.Zero(t, time.Since(began), "entries, and another member")
		time.Sleep(every / 3)
		var left [2]time.Duration
		var calls sync.WaitGroup
		for i, id := range []raft.ServerID{"b", "c"} {
			calls.Go(func() {
				time.Sleep(time.Duration(i) * 10 * time.Millisecond)
				assert.NoError(t, tr.AppendEntries(id, raft.ServerAddress(id), &raft.AppendEntriesRequest{Term: 4}, &raft.AppendEntriesResponse{}))
				left[i] = time.Since(began)
			})
		}
		calls.Wait()
		assert.Equal(t, [2]time.Duration{every, every}, left, "to all at the same moment")
	})
}

// Where packets are lost every heartbeat counts.
func TestTransportDoesNotSpaceHeartbeatsOnARoughLine(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		tr := newSlow(60 * time.Millisecond)
		beats := func(n int) time.Duration {
			began := time.Now()
			for range n {
				require.NoError(t, tr.AppendEntries("b", "b", &raft.AppendEntriesRequest{Term: 4}, &raft.AppendEntriesResponse{}))
			}
			return time.Since(began)
		}
		assert.Equal(t, 300*time.Millisecond, beats(5))
		tr.wire.(*slow).takes = 0
		assert.Zero(t, beats(5))
		time.Sleep(roughFor * 500 * time.Millisecond)
		beats(2)
		assert.Equal(t, beat(500*time.Millisecond), beats(1), "spaced again")
	})
}

// The next heartbeats are asked for while these are under way, but only where they are going to wait.
func TestTransportAsksForTheNextHeartbeats(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		tr, asked := newSlow(0), 0
		tr.again = func() { asked++ }
		for range 3 {
			require.NoError(t, tr.AppendEntries("b", "b", &raft.AppendEntriesRequest{Term: 4}, &raft.AppendEntriesResponse{}))
		}
		require.NoError(t, tr.AppendEntries("b", "b", &raft.AppendEntriesRequest{Term: 4, PrevLogEntry: 1}, &raft.AppendEntriesResponse{}))
		assert.Equal(t, 3, asked)
		tr.pacing.note("b", 0, errCut)
		require.NoError(t, tr.AppendEntries("b", "b", &raft.AppendEntriesRequest{Term: 4}, &raft.AppendEntriesResponse{}))
		assert.Equal(t, 3, asked)
	})
}
