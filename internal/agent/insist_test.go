package agent

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

func TestInsistenceRepeatsUntilItIsQuiet(t *testing.T) {
	const every = 100 * time.Millisecond
	var i insistence
	start := time.Now()
	announce, first := i.hear(start, every)
	assert.True(t, announce)
	assert.True(t, first)

	announce, first = i.hear(start.Add(time.Millisecond), every)
	assert.False(t, announce, "a rival that advertises very fast")
	assert.False(t, first)
	announce, _ = i.hear(start.Add(20*time.Millisecond), every)
	assert.True(t, announce)

	var repeats []time.Duration
	for at := time.Duration(0); at < time.Second; at += time.Millisecond {
		if i.due(start.Add(at)) {
			repeats = append(repeats, at)
		}
	}
	assert.Equal(t, []time.Duration{100 * time.Millisecond, 200 * time.Millisecond, 300 * time.Millisecond}, repeats)

	_, first = i.hear(start.Add(2*time.Second), every)
	assert.True(t, first, "a new episode")
}
