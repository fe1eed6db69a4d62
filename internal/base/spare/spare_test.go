package spare

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestWhatWasGivenBackIsEmptyAndKeepsNothingAlive(t *testing.T) {
	t.Parallel()
	var s Slices[*int]
	assert.Nil(t, s.Lend())
	s.Back(nil)
	b := append(s.Lend(), new(int), new(int))
	s.Back(b[:1])
	assert.Equal(t, []*int{nil, nil}, b)
	assert.Empty(t, s.Lend())
}
