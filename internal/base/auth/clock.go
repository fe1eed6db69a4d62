package auth

import (
	"sync"
	"time"
)

// clockStep is a difference that only a step of the wall clock makes: slewing moves the monotonic clock alike.
const clockStep = time.Second

// Clock is the time in what is authenticated. The wall clock is read once, and the monotonic clock from then on:
// stepping the wall clock of a running node neither makes its own packets stale nor other nodes'. Only a wall
// clock that the kernel knows to be synchronized is read anew: nodes that start before their clocks are right, and so
// disagree, agree as soon as these are. Safe for concurrent use.
type Clock struct {
	synchronized func() bool

	mu    sync.Mutex // guards what follows
	read  time.Time  // when the wall clock was read
	shown time.Time  // and what it showed
}

// NewClock reads now, from time.Now. synchronized says whether the wall clock can be trusted after a step, such as
// [KernelSynchronized]; nil means never.
func NewClock(now time.Time, synchronized func() bool) *Clock {
	return &Clock{synchronized: synchronized, read: now, shown: now.Round(0)}
}

// at is the Clock's time when time.Now is now, without a monotonic reading.
func (c *Clock) at(now time.Time) time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	steady, wall := c.shown.Add(now.Sub(c.read)), now.Round(0)
	if c.synchronized == nil || wall.Sub(steady).Abs() < clockStep || !c.synchronized() {
		return steady
	}
	c.read, c.shown = now, wall
	return wall
}
