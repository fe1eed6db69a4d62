package raft

import (
	"testing"
	"time"

	"github.com/hashicorp/raft"
	"github.com/stretchr/testify/assert"

	"github.com/keepvip/keepvip/internal/base/bubble"
)

func TestGossipNotesWhetherTheLeaderKnowsThisNode(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		g := &newNode(Config{Self: addr(0), Heartbeat: 500 * time.Millisecond}).gossip
		excluded := message{From: addr(1), ID: "b", State: raft.Leader.String(), Excluded: true}
		question, follower, known := excluded, excluded, excluded
		question.Kind, follower.State, known.Excluded = askHello, "Follower", false
		g.hear(question, false)
		g.hear(follower, true)
		assert.Zero(t, g.excludedSince(), "a question, and one that does not lead")
		began := time.Now()
		g.hear(excluded, true)
		time.Sleep(time.Second)
		g.hear(excluded, true)
		assert.Equal(t, began, g.excludedSince())
		g.hear(known, true)
		assert.Zero(t, g.excludedSince())
	})
}

func TestGossipListedByWhoHasAnsweredSo(t *testing.T) {
	g := &newNode(Config{Self: addr(0), Heartbeat: 500 * time.Millisecond}).gossip
	m := message{From: addr(1), ID: "b"}
	g.hear(m, false)
	assert.False(t, g.listedBy("b"), "this node had no name yet")
	g.hear(m, true)
	assert.True(t, g.listedBy("b"))
	m.Kind = askHello
	g.hear(m, false)
	assert.True(t, g.listedBy("b"), "a question says nothing of it")
	m.ID = "b#1"
	g.hear(m, false)
	assert.False(t, g.listedBy("b#1"), "another identity")
}

// A node that waits for the same list everywhere looks again when one is corrected.
func TestGossipLooksAgainAtAnotherList(t *testing.T) {
	g := &newNode(Config{Self: addr(0), Heartbeat: 500 * time.Millisecond}).gossip
	g.hear(message{From: addr(1), List: "a"}, false)
	<-g.look
	g.hear(message{From: addr(1), List: "a"}, false)
	assert.Empty(t, g.look)
	g.hear(message{From: addr(1), List: "b"}, false)
	assert.Len(t, g.look, 1)
}
