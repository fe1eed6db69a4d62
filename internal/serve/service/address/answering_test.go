package address

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

func TestHolderThatStopsToAnswerIsFoundOut(t *testing.T) {
	now := time.Unix(1000, 0)
	var a answering
	a.follow(nodeB)
	for range 3 * askHolderTimes {
		a.ask(now, true)
	}
	assert.False(t, a.who().IsValid(), "nobody has ever answered on this link")

	a.answer()
	a.ask(now, true)
	n := 1
	for ; n < 100 && !a.who().IsValid(); n++ {
		now = a.next
		assert.True(t, a.due(now))
		a.ask(now, true)
	}
	assert.Equal(t, askHolderTimes, n)
	assert.Equal(t, nodeB, a.who())
	assert.False(t, a.due(now.Add(time.Hour)), "the questions of the schedule go on alone")

	a.answer()
	assert.False(t, a.who().IsValid())
	a.ask(now, true)
	a.follow(nodeA)
	assert.False(t, a.due(now.Add(time.Hour)), "another holder")
}

// The kernel may refuse to send: while this node tells the clients of connections that it has left, its fence lets nothing about the address pass.
func TestHolderIsNotBlamedForQuestionsThatHaveNotLeft(t *testing.T) {
	now := time.Unix(1e9, 0)
	a := answering{}
	a.answer()
	a.follow(nodeB)
	for range 3 * askHolderTimes {
		now = now.Add(askHolderEvery)
		a.ask(now, false)
		assert.Equal(t, now.Add(askHolderEvery), a.next, "it is tried again")
		assert.False(t, a.who().IsValid())
	}
	for range askHolderTimes {
		assert.False(t, a.who().IsValid())
		now = now.Add(askHolderEvery)
		a.ask(now, true)
	}
	assert.Equal(t, nodeB, a.who())
}
