package election

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

func TestLinesAreBoundedAndWhatWasLeftOutIsTold(t *testing.T) {
	var l Lines
	now := time.Now()
	for i := range 500 {
		left, ok := l.May(now.Add(time.Duration(i)*time.Millisecond), "flood", 10)
		assert.Equal(t, i < 10, ok)
		assert.Zero(t, left)
	}
	_, ok := l.May(now, "another subject", 10)
	assert.True(t, ok)
	left, ok := l.May(now.Add(time.Minute), "flood", 10)
	assert.True(t, ok)
	assert.Equal(t, 490, left)
	left, _ = l.May(now.Add(time.Minute), "flood", 10)
	assert.Zero(t, left, "told once")
}
