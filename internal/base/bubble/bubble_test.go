package bubble

import (
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

// With as many processors as Go likes, the race detector ended the process here in twenty runs of twenty.
func TestDueTimersOfABubbleAreReadByManyGoroutines(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(8))
	for range 300 {
		Test(t, func(*testing.T) {
			var wg sync.WaitGroup
			for range 8 {
				wg.Go(func() {
					for range 500 {
						<-time.After(0)
					}
				})
			}
			wg.Wait()
		})
	}
}

func TestProcessorsComeBackAfterTheLastBubble(t *testing.T) {
	const some = 3
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(some))
	var p processors
	p.enter()
	p.enter()
	assert.Equal(t, 1, runtime.GOMAXPROCS(0))
	p.leave()
	assert.Equal(t, 1, runtime.GOMAXPROCS(0), "another bubble lives")
	p.leave()
	assert.Equal(t, some, runtime.GOMAXPROCS(0))
}
