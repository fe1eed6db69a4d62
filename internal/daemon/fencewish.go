package daemon

import (
	"net/netip"
	"slices"
	"sync"

	"github.com/keepvip/keepvip/internal/agent"
	"github.com/keepvip/keepvip/internal/fence"
)

// wish is what one instance wants of the fence on its link: its group put up, changed, or taken down. Each change of a fence goes
// through all of its groups, so those that are wished for while another is being made are made together: hundreds of
// instances start and stop at the same time.
type wish struct {
	place agent.Place
	group fence.Group // to put up
	bound bool        // the group's addresses are there already, and stay silent until the first advertisement
	old   *groupFence // to change into group, in place of that
	gone  *groupFence // to take down, in place of that

	done  bool // guarded by fences.mu, as what follows
	fence agent.Fence
	err   error
}

// wishes wait for the one who changes the fences.
type wishes struct {
	mu   sync.Mutex // guards list
	list []*wish
}

func (w *wishes) add(one *wish) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.list = append(w.list, one)
}

// take empties the list, by link.
func (w *wishes) take() map[int][]*wish {
	w.mu.Lock()
	defer w.mu.Unlock()
	out := map[int][]*wish{}
	for _, one := range w.list {
		out[one.place.Index] = append(out[one.place.Index], one)
	}
	w.list = nil
	return out
}

// join puts a group's fence up at p, and the whole fence when it is the first there.
func (f *fences) join(p agent.Place, g fence.Group, bound bool) (agent.Fence, error) {
	w := &wish{place: p, group: g, bound: bound}
	f.fulfil(w)
	return w.fence, w.err
}

// exchange makes a group's fence one for another group, which keeps the guard and what is shut of it.
func (f *fences) exchange(g *groupFence, next fence.Group) error {
	w := &wish{place: agent.Place{Index: g.index}, group: next, old: g}
	f.fulfil(w)
	return w.err
}

// leave takes a group's fence down, and the whole fence after the last one.
func (f *fences) leave(g *groupFence) error {
	w := &wish{place: agent.Place{Index: g.index}, gone: g}
	f.fulfil(w)
	return w.err
}

// fulfil carries w out, with all that are waiting, unless somebody else has done so meanwhile.
func (f *fences) fulfil(w *wish) {
	f.wishes.add(w)
	f.mu.Lock()
	defer f.mu.Unlock()
	if w.done {
		return
	}
	for index, part := range f.wishes.take() {
		f.together(index, part)
	}
}

// together makes one change of all wishes. If that is refused each is tried alone: one must not keep the others back.
func (f *fences) together(index int, part []*wish) {
	err := f.change(index, part)
	for _, w := range part {
		w.err = err
		if err != nil && len(part) > 1 {
			w.err = f.change(index, []*wish{w})
		}
		w.done = true
	}
}

// change makes the fence on a link what it is with these wishes fulfilled. The caller holds the lock.
func (f *fences) change(index int, part []*wish) error {
	s := f.open[index]
	next, held := f.groupsWith(s, part)
	switch {
	case s == nil && len(next) == 0:
		return nil
	case s == nil:
		return f.begin(part, next, held)
	case len(next) == 0:
		delete(f.open, index)
		return s.Remove()
	}
	before := s.orphans
	s.orphans = orphansWithout(before, next)
	if err := s.Set(s.with(next), held...); err != nil {
		s.orphans = before
		s.groups = withoutLeavers(s.groups, part)
		return err
	}
	s.groups = next
	f.give(index, s, part)
	return nil
}

// groupsWith are the groups of a fence with the wishes fulfilled, and those of them that begin silent.
func (f *fences) groupsWith(s *sharedFence, part []*wish) (next []fence.Group, held []uint32) {
	if s != nil {
		next = withoutLeavers(s.groups, part)
	}
	for _, w := range part {
		switch {
		case w.gone != nil:
			continue
		case w.old != nil:
			w.group.ID = w.old.id
			if i := slices.IndexFunc(next, func(g fence.Group) bool { return g.ID == w.old.id }); i >= 0 {
				next[i] = w.group
			}
			continue
		}
		f.nextID++
		w.group.ID = f.nextID
		next = append(next, w.group)
		if w.bound {
			held = append(held, w.group.ID)
		}
	}
	return next, held
}

// withoutLeavers are the groups but for those that leave, which they do whatever the kernel says.
func withoutLeavers(groups []fence.Group, part []*wish) []fence.Group {
	return slices.DeleteFunc(slices.Clone(groups), func(g fence.Group) bool {
		return slices.ContainsFunc(part, func(w *wish) bool { return w.gone != nil && w.gone.id == g.ID })
	})
}

// begin opens the fence of a link with its first groups.
func (f *fences) begin(part []*wish, groups []fence.Group, held []uint32) error {
	p := part[0].place
	s := &sharedFence{groups: groups}
	if !f.known[p.Index] {
		s.orphans = orphansWithout(f.leftovers(p.Index), groups)
	}
	if len(s.orphans) > 0 {
		held = append(held, orphanID)
	}
	fence, err := fence.Open(fence.Config{Index: p.Index, Name: p.Name, Groups: s.with(groups), Bound: held})
	if err != nil {
		return err
	}
	s.Fence = fence
	f.open[p.Index], f.known[p.Index] = s, true
	f.give(p.Index, s, part)
	return nil
}

// give hands out the shares of a fence.
func (f *fences) give(index int, s *sharedFence, part []*wish) {
	for _, w := range part {
		if w.gone == nil && w.old == nil {
			w.fence = &groupFence{all: f, index: index, fence: s, id: w.group.ID, adverts: w.group.Advert != fence.Advert{}}
		}
	}
}

func orphansWithout(orphans []netip.Addr, groups []fence.Group) []netip.Addr {
	return slices.DeleteFunc(slices.Clone(orphans), func(a netip.Addr) bool {
		return slices.ContainsFunc(groups, func(g fence.Group) bool { return slices.Contains(g.Addresses, a) })
	})
}
