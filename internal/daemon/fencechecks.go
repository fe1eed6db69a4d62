package daemon

import (
	"sync"
	"time"
)

// checks shares the checks and repairs of a fence among its groups.
type checks struct {
	mu     sync.Mutex // guards what follows, and held for a check or repair at a time
	at     time.Time
	err    error
	mended time.Time
}

// check looks at the fence, unless another group has done so within the given time: what one would see all would.
// The time that is returned is that of the look.
func (c *checks) check(within time.Duration, look func() error) (time.Time, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if now := time.Now(); now.Sub(c.at) >= within {
		c.at, c.err = now, look()
	}
	return c.at, c.err
}

// mend repairs the fence that was broken at some time, unless another group has done so since.
func (c *checks) mend(broke time.Time, repair func() error) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.mended.After(broke) {
		return nil
	}
	c.at = time.Time{}
	if err := repair(); err != nil {
		return err
	}
	c.mended = time.Now()
	return nil
}

// Check implements agent.Fence.
func (g *groupFence) Check(within time.Duration, held bool) error {
	at, err := g.fence.checks.check(within, g.fence.Fence.Check)
	g.broke, g.sound, g.held = at, err == nil, held
	if err == nil && held {
		err = g.fence.Guarded(g.id)
	}
	return err
}

// Mend implements agent.Fence.
func (g *groupFence) Mend() error {
	if g.sound { // all but the guard
		return g.Hold()
	}
	if err := g.fence.checks.mend(g.broke, g.fence.Rebuild); err != nil {
		return err
	}
	if g.held && g.fence.Guarded(g.id) != nil {
		return g.Hold()
	}
	return nil
}
