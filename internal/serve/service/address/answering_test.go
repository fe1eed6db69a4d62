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
		a.ask(now)
	}
	assert.False(t, a.who().IsValid(), "nobody has ever answered on this link")

	a.answer()
	a.ask(now)
	n := 1
	for ; n < 100 && !a.who().IsValid(); n++ {
		now = a.next
		assert.True(t, a.due(now))
		a.ask(now)
	}
	assert.Equal(t, askHolderTimes, n)
	assert.Equal(t, nodeB, a.who())
	assert.False(t, a.due(now.Add(time.Hour)), "the questions of the schedule go on alone")

	a.answer()
	assert.False(t, a.who().IsValid())
	a.ask(now)
	a.follow(nodeA)
	assert.False(t, a.due(now.Add(time.Hour)), "another holder")
}
