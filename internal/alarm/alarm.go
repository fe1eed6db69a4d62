// Package alarm has timers whose end the kernel tells as an event of a descriptor (timerfd_create(2)).
//
// A timer of package time wakes a process twice, because the runtime waits in whole milliseconds, and its monitor thread
// besides, which then naps until the process is idle again. For a process that does little else that is most of what it costs.
//
// A context of Clock.WithTimeout has a goroutine until it ends; nothing else here starts any.
package alarm

import (
	"container/heap"
	"sync"
	"time"
)

// Clock makes timers that share a descriptor. A nil Clock makes timers of package time, as where time is simulated.
// Safe for concurrent use.
type Clock struct {
	source source

	mu      sync.Mutex // guards what follows
	running queue
	armed   time.Time // what source is set to; zero: nothing
	closed  bool
}

// source fires once after each set. One that is set again fires at the new time only.
type source interface {
	set(after time.Duration)
	stop()
	close() error
}

// Timer sends the time on C when it has come. What it has sent before Set or Stop is not received after it, as with package
// time. Safe for concurrent use.
type Timer struct {
	C <-chan time.Time

	c     chan time.Time
	clock *Clock
	plain *time.Timer

	at    time.Time // guarded by clock.mu, as index
	index int       // in the queue; -1: does not run
}

// Timer returns one that does not run.
func (c *Clock) Timer() *Timer {
	if c == nil {
		t := time.NewTimer(time.Hour)
		t.Stop()
		return &Timer{C: t.C, plain: t}
	}
	ch := make(chan time.Time, 1)
	return &Timer{C: ch, c: ch, clock: c, index: -1}
}

// Set starts the timer, or starts it anew. A time that has passed has come.
func (t *Timer) Set(at time.Time) {
	if t.plain != nil {
		t.plain.Reset(time.Until(at))
		return
	}
	t.clock.mu.Lock()
	defer t.clock.mu.Unlock()
	t.clear()
	t.at = at
	if !t.clock.closed {
		heap.Push(&t.clock.running, t)
	}
	t.clock.arm()
}

// Stop ends it.
func (t *Timer) Stop() {
	if t.plain != nil {
		t.plain.Stop()
		return
	}
	t.clock.mu.Lock()
	defer t.clock.mu.Unlock()
	t.clear()
	t.clock.arm()
}

// clear makes it one that does not run, and has sent nothing.
func (t *Timer) clear() {
	if t.index >= 0 {
		heap.Remove(&t.clock.running, t.index)
	}
	select {
	case <-t.c:
	default:
	}
}

// arm sets the source to the first of all timers.
func (c *Clock) arm() {
	next := time.Time{}
	if len(c.running) > 0 && !c.closed {
		next = c.running[0].at
	}
	switch {
	case next.Equal(c.armed):
	case next.IsZero():
		c.source.stop()
	default:
		c.source.set(max(time.Until(next), 1))
	}
	c.armed = next
}

// fire sends on those whose time has come.
func (c *Clock) fire() {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := time.Now()
	for len(c.running) > 0 && !c.running[0].at.After(now) {
		t := heap.Pop(&c.running).(*Timer)
		t.c <- now // has room: it was emptied when the timer was set
	}
	c.armed = time.Time{}
	c.arm()
}

// Close stops all timers for good.
func (c *Clock) Close() error {
	if c == nil {
		return nil
	}
	c.mu.Lock()
	c.closed = true
	for _, t := range c.running {
		t.index = -1
	}
	c.running = nil
	c.arm()
	c.mu.Unlock()
	return c.source.close()
}

// queue is a heap of timers, the first of them in front.
type queue []*Timer

func (q queue) Len() int           { return len(q) }
func (q queue) Less(i, j int) bool { return q[i].at.Before(q[j].at) }

func (q queue) Swap(i, j int) {
	q[i], q[j] = q[j], q[i]
	q[i].index, q[j].index = i, j
}

func (q *queue) Push(x any) {
	t := x.(*Timer)
	t.index = len(*q)
	*q = append(*q, t)
}

func (q *queue) Pop() any {
	old := *q
	last := len(old) - 1
	t := old[last]
	old[last], t.index = nil, -1
	*q = old[:last]
	return t
}
