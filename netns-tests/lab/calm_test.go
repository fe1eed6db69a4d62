package lab

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/keepvip/keepvip/internal/base/bubble"
)

func TestLabsWaitForProcessorsThatAreTakenAway(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		c, began, done := &calm{}, time.Now(), make(chan struct{})
		defer close(done)
		c.budget.Store(int64(calmBudget))
		const lasts = 5 * time.Second // a half of the second processor is taken
		go c.watch(done, func() []time.Duration { return []time.Duration{time.Second, min(time.Since(began), lasts) / 2} })
		time.Sleep(calmSpan + calmEvery/2) // never at the moment at which the watch looks
		c.wait()
		waited := time.Since(began) - calmSpan
		assert.InDelta(t, lasts.Seconds(), time.Since(began).Seconds(), 1)
		assert.InDelta(t, (calmBudget - waited).Seconds(), time.Duration(c.budget.Load()).Seconds(), 2*calmEvery.Seconds())
		again := time.Now()
		c.wait()
		assert.Equal(t, again, time.Now(), "now it has them")
	})
}

func TestLabsDoNotWaitForEver(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		c, began := &calm{}, time.Now()
		c.taken.Store(int64(calmSpan))
		c.budget.Store(int64(time.Minute))
		c.wait()
		assert.Equal(t, calmLimit, time.Since(began))
		c.budget.Store(0)
		c.wait()
		assert.Equal(t, calmLimit, time.Since(began), "all of them have waited for long enough")
		var none *calm
		none.wait()
	})
}
