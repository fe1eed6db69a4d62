package health

import (
	"context"
	"slices"
	"sync"
)

// waiters want the result of a probe that has not begun yet.
type waiters struct {
	mu   sync.Mutex // guards list
	list []chan Result
}

func (w *waiters) join() chan Result {
	c := make(chan Result, 1)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.list = append(w.list, c)
	return c
}

// take returns those that the probe which begins now is for.
func (w *waiters) take() []chan Result {
	w.mu.Lock()
	defer w.mu.Unlock()
	list := w.list
	w.list = nil
	return list
}

func (w *waiters) leave(c chan Result) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.list = slices.DeleteFunc(w.list, func(o chan Result) bool { return o == c })
}

// Fresh asks for a probe that begins after the call, and returns its result. The result counts as any other. It returns
// ctx's error when ctx ends first, as it does while no Checker of the same probe runs. Safe for concurrent use.
func (c *Checker) Fresh(ctx context.Context) (Result, error) {
	result := c.probing.waiters.join()
	defer c.probing.waiters.leave(result)
	c.probing.kick.Send()
	select {
	case r := <-result:
		return r, nil
	case <-ctx.Done():
		return Result{}, ctx.Err()
	}
}
