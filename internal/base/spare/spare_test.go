package spare

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestWhatWasGivenBackIsLentEmptyAndOnce(t *testing.T) {
	t.Parallel()
	var s Slices[*int]
	assert.Nil(t, s.Lend())
	b := append(s.Lend(), new(int), new(int))
	s.Back(b[:1])
	again := s.Lend()
	assert.Empty(t, again)
	assert.Equal(t, []*int{nil, nil}, again[:2], "what was in it can be collected")
	assert.Same(t, &b[0], &again[:1][0])
	assert.Nil(t, s.Lend(), "nobody else has it")
}

func TestSlicesKeepAFewAlone(t *testing.T) {
	t.Parallel()
	var s Slices[int]
	s.Back(nil)
	for range 2 * most {
		s.Back(make([]int, 1))
	}
	assert.Len(t, s.free, most)
}
