package virtualrouter

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

func TestTimerLagKeepsTheWorstOfTheLastMinutes(t *testing.T) {
	var l timerLag
	at := time.Unix(1e9, 0)
	assert.Zero(t, l.worst(at))
	l.note(at, 5*time.Millisecond)
	l.note(at.Add(30*time.Second), 2*time.Millisecond)
	assert.Equal(t, 5*time.Millisecond, l.worst(at.Add(59*time.Second)))
	l.note(at.Add(61*time.Second), time.Millisecond)
	assert.Equal(t, 5*time.Millisecond, l.worst(at.Add(119*time.Second)))
	assert.Equal(t, time.Millisecond, l.worst(at.Add(121*time.Second)))
	assert.Zero(t, l.worst(at.Add(time.Hour)))
}
