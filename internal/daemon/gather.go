package daemon

import "sync"

// gather carries out together what many instances ask for at the same moment: whoever comes while a change is being made
// waits, and the next change is for all that wait. One for all costs hardly more than one for each.
type gather[T any] struct {
	changing sync.Mutex // held while a change is being made

	mu      sync.Mutex // guards waiting
	waiting []*gathered[T]
}

// gathered is one request.
type gathered[T any] struct {
	what T
	done bool // guarded by gather.changing, as what follows
	err  error
}

// do has change made for what, and for all that is waiting, unless somebody else has done so meanwhile. If that fails, it
// is made for each alone: one must not keep the others back.
func (g *gather[T]) do(what T, change func(...T) error) error {
	own := &gathered[T]{what: what}
	g.add(own)
	g.changing.Lock()
	defer g.changing.Unlock()
	if own.done {
		return own.err
	}
	all := g.take()
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

// wait returns when no change is under way.
func (g *gather[T]) wait() {
	g.changing.Lock()
	defer g.changing.Unlock()
}

func (g *gather[T]) add(one *gathered[T]) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.waiting = append(g.waiting, one)
}

func (g *gather[T]) take() []*gathered[T] {
	g.mu.Lock()
	defer g.mu.Unlock()
	all := g.waiting
	g.waiting = nil
	return all
}
