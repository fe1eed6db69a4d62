package roundrobin

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestOrderIsEven(t *testing.T) {
	for _, weights := range [][]uint8{{1}, {1, 1, 1}, {2, 2}, {3, 1}, {255, 254, 1}, {5, 1, 1}, {0, 2, 4}} {
		total := 0
		for _, w := range weights {
			total += int(w)
		}
		round := Order(weights)
		assert.Zero(t, total%len(round), weights)
		count, last := map[int]int{}, map[int]int{}
		for i, server := range slices.Concat(round, round) {
			weight := weights[server]
			if before, ok := last[server]; ok {
				want := float64(total) / float64(weight)
				assert.InDelta(t, want, i-before, want/2+1, "%v: from one turn of %d to its next", weights, weight)
			}
			count[server]++
			last[server] = i
		}
		for i, w := range weights {
			assert.Equal(t, int(w)*2*len(round)/total, count[i], weights)
		}
	}
}

func TestOrderIsShort(t *testing.T) {
	assert.Equal(t, []int{0, 1}, Order([]uint8{7, 7}))
	assert.Equal(t, []int{1, 0, 1}, Order([]uint8{2, 4}))
	assert.Empty(t, Order([]uint8{0, 0}))
	assert.Empty(t, Order(nil))
}
