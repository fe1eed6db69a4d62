package instance

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

func TestNextMultipleMeetsAtTheSameMoment(t *testing.T) {
	at := time.Unix(1000, 0)
	for give, want := range map[time.Duration]time.Duration{
		0: 500 * time.Millisecond, time.Millisecond: 499 * time.Millisecond, 499 * time.Millisecond: time.Millisecond, 700 * time.Millisecond: 300 * time.Millisecond,
	} {
		assert.Equal(t, want, NextMultiple(at.Add(give), 500*time.Millisecond).Sub(at.Add(give)), give)
	}
}
