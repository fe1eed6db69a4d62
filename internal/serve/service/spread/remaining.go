package spread

import (
	"net/netip"
	"slices"
	"time"

	"github.com/keepvip/keepvip/election"
	"github.com/keepvip/keepvip/members/slots"
)

const (
	// countRemaining is how often connections are counted while a member gets no new ones that had some: its operator may wait for the last.
	countRemaining = time.Second
	// countRemainingFor is for how long that is done.
	countRemainingFor = 2 * time.Minute
)

// remaining are the members to which this node still translates connections, and no new ones. These members cannot count them: all come from this
// node's own address, to theirs.
type remaining struct {
	members []remainder // the newest first
}

// remainder is one of them.
type remainder struct {
	row   row
	since time.Time // since when the kernel gives it no new connections
}

// next are those of a node at now, by what its kernel has. One that does not translate has none.
func (l remaining) next(now time.Time, tables []*table, translates bool) (out remaining) {
	if !translates {
		return out
	}
	for _, t := range tables {
		for _, r := range t.rows {
			known := func(o remainder) bool { return o.row.Address == r.Address }
			if r.Self || r.Condition != slots.Keeps || owns(tables, r) || slices.ContainsFunc(out.members, known) {
				continue
			}
			next := remainder{r, now}
			if i := slices.IndexFunc(l.members, known); i >= 0 {
				next.since = l.members[i].since
			}
			out.members = append(out.members, next)
		}
	}
	slices.SortStableFunc(out.members, func(a, b remainder) int { return b.since.Compare(a.since) })
	return out
}

// owns tells whether a member gets connections by any of the tables.
func owns(tables []*table, r row) bool {
	return slices.ContainsFunc(tables, func(t *table) bool {
		owners := []netip.Addr(nil)
		if t.applied != nil {
			owners = ownersOf(*t.applied)
		}
		return slices.ContainsFunc(owners, func(a netip.Addr) bool { return slices.Contains(r.Addresses, a) })
	})
}

// often tells whether connections are to be counted more often.
func (l remaining) often(now time.Time) bool {
	return len(l.members) > 0 && now.Sub(l.members[0].since) < countRemainingFor
}

// list is what the members are told: of each how many it has, once it was counted since.
func (l remaining) list(k *kernel) (out []election.Left) {
	for _, m := range l.members {
		uncounted := func(t *table) bool { return !t.counted.After(m.since) }
		if len(out) < election.MostLeft && !slices.ContainsFunc(k.tables, uncounted) {
			out = append(out, election.Left{Member: m.row.Address, Connections: k.translated(m.row)})
		}
	}
	return out
}
