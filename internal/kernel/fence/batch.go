package fence

import (
	"errors"
	"net/netip"
	"slices"
)

// change asks for another fence on a link: with a group put up, changed, or taken down. Each change of a fence goes
// through all of its groups, so those that are asked for while another is being made are made together: hundreds of
// instances start and stop at the same time.
type change struct {
	name     string // of the link, of a group to put up
	group    Group  // to put up
	bound    bool   // the group's addresses are there already, and stay silent until the first advertisement
	replaces *Share // to change into group, in place of that
	leaves   *Share // to take down, in place of that

	share *Share // outcome of a group that was put up
}

// do carries one out, with all that are waiting. If that is refused each is tried alone.
func (l *onLink) do(c *change) error { return l.changes.Do(c, l.apply) }

// apply makes the fence what it is with these changes, and with those refused before that have become possible with them.
func (l *onLink) apply(batch ...*change) error {
	l.forgetOlder(batch)
	again := l.possible(batch)
	err := l.commit(slices.Concat(again, batch))
	if err != nil && len(again) > 0 { // those before must not keep these back
		again, err = nil, l.commit(batch)
	}
	l.refused = slices.DeleteFunc(l.refused, func(c *change) bool { return slices.Contains(again, c) })
	if len(batch) == 1 && batch[0].replaces != nil && errors.Is(err, errTaken) {
		l.refused = append(l.refused, batch[0])
	}
	return err
}

// commit has the kernel make all of these changes, or none.
func (l *onLink) commit(batch []*change) error {
	s := l.open
	next, held := l.groupsWith(batch)
	switch {
	case s == nil && len(next) == 0:
		return nil
	case s == nil:
		return l.begin(batch, next, held)
	case len(next) == 0:
		l.open = nil
		l.ending.Store(nil)
		s.unfollow()
		return s.remove()
	}
	before := s.leftovers
	s.leftovers = without(before, next)
	if err := s.set(s.with(next), held...); err != nil {
		s.leftovers = before
		s.groups = withoutLeavers(s.groups, batch)
		return err
	}
	s.groups = next
	l.give(batch)
	return nil
}

// groupsWith are the groups of the fence after these changes, and those of them that begin silent.
func (l *onLink) groupsWith(batch []*change) (next []Group, held []uint32) {
	if l.open != nil {
		next = withoutLeavers(l.open.groups, batch)
	}
	for _, c := range batch {
		switch {
		case c.leaves != nil:
			continue
		case c.replaces != nil:
			c.group.ID = c.replaces.id
			if i := slices.IndexFunc(next, func(g Group) bool { return g.ID == c.group.ID }); i >= 0 {
				next[i] = c.group
			}
			continue
		}
		if c.group.ID == 0 {
			l.lastID++
			c.group.ID = l.lastID
		}
		next = append(next, c.group)
		if c.bound {
			held = append(held, c.group.ID)
		}
	}
	return next, held
}

// withoutLeavers are the groups but for those that leave, which they do whatever the kernel says.
func withoutLeavers(groups []Group, batch []*change) []Group {
	return slices.DeleteFunc(slices.Clone(groups), func(g Group) bool {
		return slices.ContainsFunc(batch, func(c *change) bool { return c.leaves != nil && c.leaves.id == g.ID })
	})
}

// begin opens the fence with its first groups.
func (l *onLink) begin(batch []*change, groups []Group, held []uint32) error {
	s := &shared{groups: groups}
	if !l.known {
		s.leftovers = without(l.leftovers(l.index), groups)
	}
	if len(s.leftovers) > 0 {
		held = append(held, leftoverID)
	}
	fence, err := open(l.index, batch[0].name, l.mark, s.with(groups), held...)
	if err != nil {
		return err
	}
	s.linkFence = fence
	s.unfollow = l.watch.Follow(s.follow)
	l.open, l.known = s, true
	l.ending.Store(fence)
	l.give(batch)
	return nil
}

// give hands out the shares of the fence.
func (l *onLink) give(batch []*change) {
	for _, c := range batch {
		if c.leaves == nil && c.replaces == nil {
			c.share = &Share{link: l, fence: l.open, id: c.group.ID, adverts: !c.group.Advert.zero()}
		}
	}
}

// without leaves out the addresses that have a group.
func without(addrs []netip.Addr, groups []Group) []netip.Addr {
	return slices.DeleteFunc(slices.Clone(addrs), func(a netip.Addr) bool {
		return slices.ContainsFunc(groups, func(g Group) bool { return slices.Contains(g.Addresses, a) })
	})
}
