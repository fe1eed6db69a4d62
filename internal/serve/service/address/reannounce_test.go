package address

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

func TestReannouncingRepeatsUntilItIsQuiet(t *testing.T) {
	const every = 100 * time.Millisecond
	var i reannouncing
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
	assert.Equal(t, []time.Duration{120 * time.Millisecond, 220 * time.Millisecond, 320 * time.Millisecond}, repeats)

	_, first = i.hear(start.Add(2*time.Second), every)
	assert.True(t, first, "a new episode")
}

// An advertisement of a rival draws an announcement, and the rival's own announcement comes a moment later: a client would go by that.
func TestReannouncingComesAfterWhatFollowsTheFirstWord(t *testing.T) {
	var i reannouncing
	start := time.Now()
	i.hear(start, 100*time.Millisecond)
	announce, _ := i.hear(start.Add(2*time.Millisecond), 100*time.Millisecond)
	assert.False(t, announce)
	assert.True(t, i.due(start.Add(reannounceGap)))
}

// A rival that never ends draws a burst, and then the repeats, of which the last comes after the rival's last word.
func TestReannouncingUnderAFlood(t *testing.T) {
	const every, flood = 100 * time.Millisecond, 5 * time.Second
	var i reannouncing
	start := time.Now()
	n, last := 0, time.Duration(0)
	for at := time.Duration(0); at < flood+time.Second; at += time.Millisecond {
		announce := false
		if at < flood && at%(2*time.Millisecond) == 0 {
			announce, _ = i.hear(start.Add(at), every)
		}
		if announce || i.due(start.Add(at)) {
			n, last = n+1, at
		}
	}
	assert.LessOrEqual(t, n, 65, "500 a second")
	assert.Greater(t, last, flood)
}
