package worst

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

func TestLatelyKeepsTheWorstOfTheLastMinutes(t *testing.T) {
	var l Lately
	at := time.Unix(1e9, 0)
	assert.Zero(t, l.Worst(at))
	l.Note(at, 5*time.Millisecond)
	l.Note(at.Add(30*time.Second), 2*time.Millisecond)
	assert.Equal(t, 5*time.Millisecond, l.Worst(at.Add(59*time.Second)))
	l.Note(at.Add(61*time.Second), time.Millisecond)
	assert.Equal(t, 5*time.Millisecond, l.Worst(at.Add(119*time.Second)))
	assert.Equal(t, time.Millisecond, l.Worst(at.Add(121*time.Second)))
	assert.Zero(t, l.Worst(at.Add(time.Hour)))
}
