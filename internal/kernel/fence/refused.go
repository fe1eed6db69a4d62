package fence

import (
	"net/netip"
	"slices"
)

// An address that moves from one group to another is the subject of two changes, by two who do not know of each other. The one that gets it
// may come first, and is refused, as no address is in two groups; where two groups swap their addresses both are refused, whoever comes
// first. So a change that was refused for that is kept, and made with a later one that makes it possible. Whoever asked for it asks again
// sooner or later, and finds that it has been made.

// about is the ID of the group that a change replaces or takes down; 0 for one that it puts up.
func (c *change) about() uint32 {
	switch {
	case c.leaves != nil:
		return c.leaves.id
	case c.replaces != nil:
		return c.replaces.id
	}
	return 0
}

// forgetOlder forgets what was refused of groups that newer changes are about.
func (l *onLink) forgetOlder(batch []*change) {
	l.refused = slices.DeleteFunc(l.refused, func(old *change) bool {
		return slices.ContainsFunc(batch, func(c *change) bool { return c.about() == old.about() })
	})
}

// possible are the changes refused before that can be made with these. To leave one out can make another impossible.
func (l *onLink) possible(batch []*change) []*change {
	again := slices.Clone(l.refused)
	for len(again) > 0 {
		next, _ := l.groupsWith(slices.Concat(again, batch))
		taken, before := inTwo(next), len(again)
		again = slices.DeleteFunc(again, func(c *change) bool {
			return slices.ContainsFunc(c.group.Addresses, func(a netip.Addr) bool { return taken[a] })
		})
		if len(again) == before {
			break
		}
	}
	return again
}

// inTwo are the addresses that more than one group has.
func inTwo(groups []Group) map[netip.Addr]bool {
	has, taken := map[netip.Addr]bool{}, map[netip.Addr]bool{}
	for _, g := range groups {
		for _, a := range g.Addresses {
			taken[a] = taken[a] || has[a]
			has[a] = true
		}
	}
	return taken
}
