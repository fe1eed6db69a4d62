package daemon

import (
	"context"
	"sync"

	"github.com/keepvip/keepvip/internal/serve/service/spread"
)

// company is the backends of an entry, of which each is asked whether it is good. Damping is about which of them serves: while no other one is good,
// the first good probe of each counts. It outlives reloads, as those backends do that stay. The zero value has none.
type company struct {
	mu      sync.Mutex // guards what follows
	good    map[*spread.Backend]bool
	unasked bool // of the newest configuration one is not asked, and so it is good
}

// note keeps how a backend is.
func (c *company) note(b *spread.Backend, good bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.good == nil {
		c.good = map[*spread.Backend]bool{}
	}
	c.good[b] = good
}

// leave forgets a backend that is not asked any more.
func (c *company) leave(b *spread.Backend) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.good, b)
}

// has tells whether there is one that is not asked.
func (c *company) has(unasked bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.unasked = unasked
}

// alone tells of a backend that no other one is good.
func (c *company) alone(b *spread.Backend) func(context.Context) bool {
	return func(context.Context) bool {
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.unasked {
			return false
		}
		for other, good := range c.good {
			if good && other != b {
				return false
			}
		}
		return true
	}
}
