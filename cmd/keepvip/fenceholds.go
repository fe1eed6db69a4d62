package main

import "sync"

// holds lets the groups of a fence begin their tenures, or go on with them, together: many addresses are renewed at the same
// moment, and one change of the fence costs hardly more for all than for one.
type holds struct {
	changing sync.Mutex // held while the fence is being changed

	mu      sync.Mutex // guards waiting
	waiting []*holding
}

// holding is one group's wish.
type holding struct {
	id   uint32
	done bool // guarded by holds.changing, as what follows
	err  error
}

// hold carries out change for the group, with all that are waiting, unless somebody else has done so meanwhile.
func (h *holds) hold(id uint32, change func(ids ...uint32) error) error {
	own := &holding{id: id}
	h.add(own)
	h.changing.Lock()
	defer h.changing.Unlock()
	if own.done {
		return own.err
	}
	all := h.take()
	ids := make([]uint32, len(all))
	for i, one := range all {
		ids[i] = one.id
	}
	err := change(ids...)
	for _, one := range all {
		one.err = err
		if err != nil && len(all) > 1 {
			one.err = change(one.id) // one must not keep the others back
		}
		one.done = true
	}
	return own.err
}

func (h *holds) add(one *holding) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.waiting = append(h.waiting, one)
}

func (h *holds) take() []*holding {
	h.mu.Lock()
	defer h.mu.Unlock()
	all := h.waiting
	h.waiting = nil
	return all
}
