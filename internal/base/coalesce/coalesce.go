// Package coalesce makes one change of what many ask for at the same moment. One for all often costs hardly more than one for each.
//
// The package starts no goroutine: one of those who ask makes the change for all.
package coalesce

import "sync"

// Queue carries requests out: one that comes while a change is being made waits, and the next change is for all that wait.
// The zero value is ready, and may be used from several goroutines.
type Queue[T any] struct {
	// Collect, if not nil, is called before each change, and may wait for more to ask for: waiting says how many do. Set it before Do.
	Collect func(waiting func() int)

	changing sync.Mutex // held while a change is being made

	mu      sync.Mutex // guards waiting
	waiting []*request[T]
}

type request[T any] struct {
	what T
	done bool // guarded by Queue.changing, as what follows
	err  error
}

// Do has change made for what, and for all that is waiting, unless somebody else has done so meanwhile. If that fails, it
// is made for each alone: one must not keep the others back. The error is that of what.
func (q *Queue[T]) Do(what T, change func(...T) error) error {
	own := &request[T]{what: what}
	q.add(own)
	q.changing.Lock()
	defer q.changing.Unlock()
	if own.done {
		return own.err
	}
	if q.Collect != nil {
		q.Collect(q.count)
	}
	all := q.take()
	list := make([]T, len(all))
	for i, one := range all {
		list[i] = one.what
	}
	err := change(list...)
	for _, one := range all {
		one.err = err
		if err != nil && len(all) > 1 {
			one.err = change(one.what)
		}
		one.done = true
	}
	return own.err
}

// Wait returns when no change is under way.
func (q *Queue[T]) Wait() {
	q.changing.Lock()
	defer q.changing.Unlock()
}

func (q *Queue[T]) add(one *request[T]) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.waiting = append(q.waiting, one)
}

func (q *Queue[T]) count() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.waiting)
}

func (q *Queue[T]) take() []*request[T] {
	q.mu.Lock()
	defer q.mu.Unlock()
	all := q.waiting
	q.waiting = nil
	return all
}
