package roundrobin

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestWindowHasEachInItsTurn(t *testing.T) {
	all := []int{0, 1, 2, 3, 4, 5, 6}
	for _, first := range []int64{-5, 0, 3, 1 << 40} {
		var seen []int
		for round := range int64(3) {
			part := Window(all, 3, first+round)
			assert.LessOrEqual(t, len(part), 3)
			seen = append(seen, part...)
		}
		slices.Sort(seen)
		assert.Equal(t, all, seen, "three rounds from %d", first)
	}
	assert.Equal(t, all, Window(all, 7, 5))
	assert.Empty(t, Window([]int(nil), 7, 5))
}
