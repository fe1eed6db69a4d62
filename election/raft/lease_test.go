package raft

import (
	"testing"
	"time"

	"github.com/hashicorp/raft"
	"github.com/stretchr/testify/assert"

	"github.com/keepvip/keepvip/internal/base/bubble"
)

func TestAcksQuorum(t *testing.T) {
	epoch := time.Unix(1000, 0)
	at := func(ms int) time.Time { return epoch.Add(time.Duration(ms) * time.Millisecond) }
	now := at(1000)
	three, five := []raft.ServerID{"a", "b", "c"}, []raft.ServerID{"a", "b", "c", "d", "e"}
	for _, c := range []struct {
		name   string
		voters []raft.ServerID
		acks   map[raft.ServerID]int
		want   time.Time
	}{
		{"alone", []raft.ServerID{"a"}, nil, now},
		{"two, silent", []raft.ServerID{"a", "b"}, nil, time.Time{}},
		{"two", []raft.ServerID{"a", "b"}, map[raft.ServerID]int{"b": 900}, at(900)},
		{"three, silent", three, nil, time.Time{}},
		{"three, the newest of two counts", three, map[raft.ServerID]int{"b": 100, "c": 900}, at(900)},
		{"five, the second newest counts", five, map[raft.ServerID]int{"b": 100, "c": 900, "d": 700, "e": 300}, at(700)},
		{"five, one is not enough", five, map[raft.ServerID]int{"c": 900}, time.Time{}},
		{"one that is no voter", three, map[raft.ServerID]int{"x": 900}, time.Time{}},
		{"this node is no voter any more", []raft.ServerID{"b", "c"}, map[raft.ServerID]int{"b": 900, "c": 900}, time.Time{}},
	} {
		t.Run(c.name, func(t *testing.T) {
			var a acks
			for id, ms := range c.acks {
				a.add(7, id, at(ms))
			}
			assert.Equal(t, c.want, a.quorum(7, "a", c.voters, now))
			if len(c.voters) > 1 {
				assert.Zero(t, a.quorum(8, "a", c.voters, now), "of another term")
			}
		})
	}
}

func TestAcksOfAnOlderTermOrStartDoNotCount(t *testing.T) {
	epoch := time.Unix(1000, 0)
	voters := []raft.ServerID{"a", "b", "c"}
	var a acks
	a.add(2, "b", epoch.Add(time.Second))
	a.add(1, "c", epoch.Add(3*time.Second))
	a.add(2, "b", epoch) // an answer that was late
	assert.Equal(t, epoch.Add(time.Second), a.quorum(2, "a", voters, epoch.Add(4*time.Second)))
	a.add(3, "c", epoch.Add(2*time.Second))
	assert.Zero(t, a.quorum(2, "a", voters, epoch.Add(4*time.Second)))
}

func TestLeaseEndsBeforeTheVoteLock(t *testing.T) {
	for _, heartbeat := range []time.Duration{leastHeartbeat, 150 * time.Millisecond, 500 * time.Millisecond, mostHeartbeat} {
		assert.Less(t, LeaseLength(heartbeat), heartbeat)
		assert.Positive(t, LeaseLength(heartbeat))
	}
	assert.Equal(t, 440*time.Millisecond, LeaseLength(500*time.Millisecond))
}

// Who is letting go of the addresses must not have one bound meanwhile.
func TestLeaseNobodyTakesAfterItIsGiven(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		l := newLan(t, 3)
		defer l.stopAll()
		l.settle()
		n, e := l.answering()[0].node, &Elector{}
		term := n.cluster.leading().CurrentTerm()
		n.lease.give(term)
		assert.Zero(t, n.lease.end())
		assert.False(t, n.lease.take(e))
		assert.False(t, e.holds.Load())
		n.lease.give(0)
		assert.True(t, n.lease.take(e))
		assert.True(t, e.holds.Load())
	})
}
