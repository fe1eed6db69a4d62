package auth

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

func TestClockFollowsTheMonotonicClock(t *testing.T) {
	start := time.Now()
	c := NewClock(start, nil)
	later := start.Add(time.Minute) // moves both readings
	assert.True(t, c.at(later).Equal(start.Round(0).Add(time.Minute)))
	assert.Equal(t, start.Round(0), c.at(start))
}

// The wall clock is stepped after the Clock was made: it showed something else then.
func TestClockAfterAStep(t *testing.T) {
	for _, by := range []time.Duration{time.Hour, -time.Hour, 2 * time.Second} {
		synchronized := false
		now := time.Now()
		c := NewClock(now, func() bool { return synchronized })
		c.shown = c.shown.Add(-by)
		before := now.Round(0).Add(-by)
		assert.Equal(t, before, c.at(now), "by hand")
		assert.True(t, c.at(now.Add(time.Minute)).Equal(before.Add(time.Minute)))

		synchronized = true
		assert.Equal(t, now.Round(0), c.at(now), "by what disciplines the clock")
		synchronized = false
		assert.True(t, c.at(now.Add(time.Minute)).Equal(now.Round(0).Add(time.Minute)))
	}
}

func TestClockIgnoresWhatIsNoStep(t *testing.T) {
	now := time.Now()
	c := NewClock(now, func() bool { return true })
	c.shown = c.shown.Add(-999 * time.Millisecond)
	assert.Equal(t, now.Round(0).Add(-999*time.Millisecond), c.at(now))
}
