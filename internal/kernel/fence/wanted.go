package fence

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"
)

// wanted is what a fence is to be: its groups, which of them are held or on standby, until when, and what is shut. It knows no kernel: what
// changes it here has come about there, in a transaction that began at the time given.
type wanted struct {
	groups map[uint32]Group     // by ID
	held   map[uint32]part      // IDs with a guard, and what is shut of them
	guards map[uint32]time.Time // until when, at least, if nobody else takes them away
	// standby is until when, at least, groups are on standby.
	standby map[uint32]time.Time
}

// wantedOf has groups of which those in bound are held, with guards that begin when the tables are made.
func wantedOf(groups []Group, bound []uint32) (wanted, error) {
	w := wanted{groups: byID(groups), held: map[uint32]part{}, guards: map[uint32]time.Time{}, standby: map[uint32]time.Time{}}
	for _, id := range bound {
		if _, ok := w.groups[id]; !ok {
			return wanted{}, fmt.Errorf("bound group %d is not among the groups", id)
		}
		w.held[id] = 0
	}
	return w, nil
}

func byID(groups []Group) map[uint32]Group {
	m := make(map[uint32]Group, len(groups))
	for _, g := range groups {
		g.Addresses, g.Spread.Ports = slices.Clone(g.Addresses), slices.Clone(g.Spread.Ports)
		m[g.ID] = g
	}
	return m
}

// sorted is the groups by ID, so that the same groups always make the same table.
func sorted(groups map[uint32]Group) []Group {
	return slices.SortedFunc(maps.Values(groups), func(a, b Group) int { return cmp.Compare(a.ID, b.ID) })
}

// group is the one with that ID.
func (w *wanted) group(id uint32) (Group, error) {
	g, ok := w.groups[id]
	if !ok {
		return Group{}, fmt.Errorf("group %d is not set", id)
	}
	return g, nil
}

// successors are other groups as they are to take the place of those there are, and which of them are new and bound.
func (w *wanted) successors(groups []Group, bound []uint32) (next map[uint32]Group, begin []uint32) {
	next = byID(groups)
	for id, g := range next {
		if old := w.groups[id].Spread; old.Until.After(g.Spread.Until) {
			g.Spread.Until = old.Until
			next[id] = g
		}
	}
	return next, slices.DeleteFunc(slices.Clone(bound), func(id uint32) bool {
		_, stays := w.groups[id]
		_, comes := next[id]
		return stays || !comes
	})
}

// replace makes next the groups, of which those in bound are held from then on.
func (w *wanted) replace(next map[uint32]Group, bound []uint32, began time.Time) {
	for _, id := range bound {
		w.held[id] = 0
		w.guards[id] = began.Add(next[id].Guard)
	}
	for id := range w.standby {
		if g, stays := next[id]; !stays {
			delete(w.standby, id)
		} else if changed(w.groups[id], g) {
			w.standby[id] = began.Add(standbyFor(max(w.groups[id].Guard, g.Guard)))
		}
	}
	for id := range w.held {
		if g, stays := next[id]; !stays {
			w.forget(id)
		} else if changed(w.groups[id], g) {
			w.guards[id] = began.Add(max(w.groups[id].Guard, g.Guard))
		}
	}
	w.groups = next
}

// changed tells whether a group that stays is not what it was.
func changed(before, after Group) bool {
	return before.Lease != after.Lease || before.Guard != after.Guard || !slices.Equal(before.Addresses, after.Addresses)
}

// hold begins to hold a group, or goes on with it.
func (w *wanted) hold(id uint32, shut part, began time.Time) {
	delete(w.standby, id)
	w.held[id] = shut
	w.guards[id] = began.Add(w.groups[id].Guard)
}

// standBy puts a group on standby, whatever it was before.
func (w *wanted) standBy(id uint32, began time.Time) {
	w.forget(id)
	w.standby[id] = began.Add(standbyFor(w.groups[id].Guard))
}

// forget is for a group that is neither held nor on standby any more.
func (w *wanted) forget(id uint32) {
	delete(w.standby, id)
	delete(w.held, id)
	delete(w.guards, id)
}

// spreadUntil is for a group whose spread ports pass until then.
func (w *wanted) spreadUntil(id uint32, until time.Time) {
	g := w.groups[id]
	g.Spread.Until = until
	w.groups[id] = g
}

// rebuilt is for tables that were made anew: all guards began then.
func (w *wanted) rebuilt(began time.Time) {
	for id := range w.held {
		w.guards[id] = began.Add(w.groups[id].Guard)
	}
	for id := range w.standby {
		w.standby[id] = began.Add(standbyFor(w.groups[id].Guard))
	}
}

// outlasting are the groups whose leases may be too long in a table that was begun and is in place now: the kernel counts what was left of a lease
// from some moment in between.
func (w *wanted) outlasting(leaseEnds map[uint32]time.Time, began, now time.Time) (ids []uint32) {
	for id := range w.held {
		g := w.groups[id]
		end := leaseEnds[id].Add(-g.spare())
		left := min(end.Sub(began), g.Lease)
		if left > 0 && now.Add(left).Sub(end) > g.late() {
			ids = append(ids, id)
		}
	}
	return ids
}

// guarded returns an error that wraps errBroken if a group has no guard now.
func (w *wanted) guarded(id uint32, now time.Time) error {
	end, held := w.guards[id]
	switch {
	case !held:
		return fmt.Errorf("%w: group %d has no guard", errBroken, id)
	case !now.Before(end):
		return fmt.Errorf("%w: the guard of group %d ended at %s", errBroken, id, end.Format(time.TimeOnly))
	}
	return nil
}

// allGuarded is guarded for all groups that are held.
func (w *wanted) allGuarded(now time.Time) error {
	for id := range w.held {
		if err := w.guarded(id, now); err != nil {
			return err
		}
	}
	return nil
}
