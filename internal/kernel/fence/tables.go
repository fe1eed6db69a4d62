package fence

import (
	"errors"
	"slices"
	"time"

	"github.com/google/nftables"
	"golang.org/x/sys/unix"

	"github.com/keepvip/keepvip/internal/kernel/nfttables"
)

// tables are both tables of a fence as they are to be in the kernel: that of its link, and that of the arp family. Their methods are parts of a
// transaction, too: those that concern both.
type tables struct {
	link linkTable
	arp  arpTable
}

// tablesFor are those of a link, on a kernel that can do everything.
func tablesFor(index int, device string, mark Mark) tables {
	l := layout{index, device, &nftables.Table{Name: tableName(index), Family: nftables.TableFamilyNetdev}}
	t := tables{
		link: linkTable{layout: l, mark: mark},
		arp:  arpTable{table: &nftables.Table{Name: l.table.Name, Family: nftables.TableFamilyARP}, link: l.key()},
	}
	t.use(allAbilities[0])
	return t
}

// abilities are what the kernel has of what a fence wants.
type abilities struct {
	egress bool // the egress hook (Linux 5.16)
	routes bool // and there the knowledge which addresses are its own
	arp    bool // nftables of the arp family
}

// allAbilities are those of the kernels that there are, the most first.
var allAbilities = []abilities{
	{true, true, true}, {true, true, false}, {true, false, true}, {true, false, false}, {false, false, true}, {false, false, false},
}

func (t *tables) abilities() abilities { return abilities{t.link.egress, t.link.routes, t.arp.able} }

// use makes the tables from now on those of a kernel with such abilities.
func (t *tables) use(a abilities) {
	t.link.egress, t.link.routes, t.arp.able = a.egress, a.routes, a.arp
}

// fill makes the tables anew. A group that is held has its guard in them and what is left until its time in leaseEnds as its lease.
func (t *tables) fill(c *nftables.Conn, w *wanted, leaseEnds map[uint32]time.Time) error {
	if err := t.link.create(c, w.groups); err != nil {
		return err
	}
	var errs []error
	guards := map[uint32]time.Duration{}
	for id, shut := range w.held {
		guards[id] = w.groups[id].Guard
		errs = append(errs, t.link.putTimers(c, w.groups[id], 0, shut))
		// The last renewal is lost with the old table.
		g := w.groups[id]
		if left := min(time.Until(leaseEnds[id].Add(-g.spare())), g.Lease); left >= time.Millisecond {
			errs = append(errs, t.link.putTime(c, leaseOf(id), left))
		}
	}
	for id := range w.standby {
		if t.link.canStandBy() {
			errs = append(errs, t.link.putStandby(c, w.groups[id]))
		}
		guards[id] = standbyGuard(w.groups[id])
	}
	errs = append(errs, t.arp.put(c, w.groups, guards))
	return errors.Join(errs...)
}

// exchange replaces groups by others, and touches nothing of those that stay but their addresses and their renewal.
func (t *tables) exchange(c *nftables.Conn, w *wanted, next map[uint32]Group, bound []uint32) error {
	l := &t.link
	errs := l.addLeases(c, slices.DeleteFunc(sorted(next), func(g Group) bool { _, stays := w.groups[g.ID]; return stays }))
	guards := map[uint32]time.Duration{}
	l.putBase(c, next)
	for _, name := range groupMaps {
		c.FlushSet(l.addresses(name))
	}
	l.flushRenewals(c)
	for id, g := range w.groups {
		if _, stays := next[id]; !stays {
			errs = append(errs, l.deleteGroup(c, g))
		}
	}
	for _, g := range sorted(next) {
		old, stays := w.groups[g.ID]
		if !stays {
			errs = append(errs, l.addGroup(c, g))
			continue
		}
		l.addRenewal(c, g)
		errs = append(errs, l.changeSpread(c, old, g))
		if until, standing := w.standby[g.ID]; standing {
			if changed(old, g) {
				errs = append(errs, l.putStandby(c, Group{ID: g.ID, Guard: max(old.Guard, g.Guard)}))
			}
			guards[g.ID] = min(standbyGuard(g), time.Until(until))
		}
		shut, held := w.held[g.ID]
		switch {
		case held && changed(old, g):
			g.Guard = max(old.Guard, g.Guard) // addresses that stay live on for as long as they were given before
			guards[g.ID] = g.Guard
			errs = append(errs, l.putTimers(c, g, shut, shut))
		case held:
			guards[g.ID] = time.Until(w.guards[g.ID])
		}
	}
	errs = append(errs, l.putAddresses(c, next))
	for _, id := range bound {
		guards[id] = next[id].Guard
		errs = append(errs, l.putTimers(c, next[id], 0, 0))
	}
	errs = append(errs, t.arp.put(c, next, guards))
	return errors.Join(errs...)
}

// hold starts a group's guard again in both tables, or with no time stops it, changes what is shut of the group, and ends its standby.
func (t *tables) hold(c *nftables.Conn, w *wanted, g Group, shut part) error {
	var err error
	if _, standing := w.standby[g.ID]; standing {
		err = t.link.endStandby(c, g.ID)
	}
	return errors.Join(err, t.putHeld(c, g, w.held[g.ID], shut))
}

// standBy starts a group's guard of standby, in place of the one that it has if it is held.
func (t *tables) standBy(c *nftables.Conn, w *wanted, id uint32) error {
	g := w.groups[id]
	var err error
	switch shut, held := w.held[id]; {
	case held:
		err = errors.Join(t.link.putTimers(c, Group{ID: id}, shut, 0), t.arp.putGuard(c, id, standbyGuard(g)))
	case g.Answers != 0:
		err = t.arp.putGuard(c, id, standbyGuard(g))
	}
	return errors.Join(err, t.link.putStandby(c, g))
}

// putHeld is hold for a group that is not on standby.
func (t *tables) putHeld(c *nftables.Conn, g Group, was, shut part) error {
	return errors.Join(t.link.putTimers(c, g, was, shut), t.arp.putGuard(c, g.ID, g.Guard))
}

// remove takes both away.
func (t *tables) remove(c *nftables.Conn) {
	clearTable(c, t.link.table)
	if t.arp.able {
		clearTable(c, t.arp.table)
	}
}

// ids name both.
func (t *tables) ids() []nfttables.ID {
	ids := []nfttables.ID{{Family: unix.NFPROTO_NETDEV, Name: t.link.table.Name}}
	if t.arp.able {
		ids = append(ids, nfttables.ID{Family: unix.NFPROTO_ARP, Name: t.arp.table.Name})
	}
	return ids
}

// failed is for a transaction that the kernel refused, or of which it said nothing: nobody knows of a timer that it was to start.
func (t *tables) failed() { t.link.orphans = time.Time{} }

// clearTable takes a table away. To add it first makes that succeed whether or not it is there.
func clearTable(c *nftables.Conn, t *nftables.Table) {
	c.AddTable(t)
	c.DelTable(t)
}
