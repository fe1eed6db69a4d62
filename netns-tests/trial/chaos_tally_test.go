package trial

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestSoakDecidesOnlyIfMostEpisodesAreDecided(t *testing.T) {
	undecided := []string{"a line"}
	assert.True(t, (&Tally{}).Decides())
	assert.True(t, (&Tally{Episodes: 2, undecided: undecided}).Decides())
	assert.False(t, (&Tally{Episodes: 1, undecided: undecided}).Decides())
	assert.False(t, (&Tally{Episodes: 3, undecided: append(undecided, "and another one")}).Decides())
}
