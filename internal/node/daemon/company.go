package daemon

import (
	"context"
	"sync"
)

// company is several servers of which each is asked whether it is good. Damping is about which of them serves: while no other one is good,
// the first good probe of each counts.
type company struct {
	mu   sync.Mutex // guards good
	good []bool
}

func newCompany(servers int) *company { return &company{good: make([]bool, servers)} }

// note keeps how a server is.
func (c *company) note(server int, good bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.good[server] = good
}

// alone tells of a server that no other one is good.
func (c *company) alone(server int) func(context.Context) bool {
	return func(context.Context) bool {
		c.mu.Lock()
		defer c.mu.Unlock()
		for i, good := range c.good {
			if good && i != server {
				return false
			}
		}
		return true
	}
}
