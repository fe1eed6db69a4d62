package fence

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"net"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/nftables"
	"github.com/google/nftables/expr"
	"golang.org/x/sys/unix"
)

const tablePrefix = "keepvip-"

// tableName is one per link, by index, which unlike the name never changes.
func tableName(index int) string { return tablePrefix + strconv.Itoa(index) }

// linkOf is the link whose fence has that name.
func linkOf(name string) (index int, ours bool) {
	n, err := strconv.ParseUint(strings.TrimPrefix(name, tablePrefix), 10, 31)
	return int(n), err == nil && strings.HasPrefix(name, tablePrefix)
}

// elementsPerMessage keeps a message's list of elements within the 64 KiB that the length of a netlink attribute can say.
const elementsPerMessage = 400

// Rebuild makes the whole table anew in one transaction, with the groups and guards that it should have. A group that is held gets its guard
// and, until the next renewal, a lease that ends at the group's time in leaseEnds, or after its length if that is sooner. One whose time has
// passed, or that has none there, is silent.
func (f *Fence) Rebuild(leaseEnds map[uint32]time.Time) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.wrap("rebuild", f.build(leaseEnds))
}

// build makes the tables, on a kernel that cannot do all of it with what it can.
func (f *Fence) build(leaseEnds map[uint32]time.Time) error {
	// Since Linux 6.16 the hook of a link that is not there is accepted, and waits for one of that name.
	ifi, err := net.InterfaceByIndex(f.index)
	if err != nil {
		return ErrGone
	}
	f.device = ifi.Name
	began := time.Now()
	if err := f.buildMost(leaseEnds); err != nil {
		switch {
		case errors.Is(err, unix.ENODEV):
			return ErrGone
		case lacks(err), errors.Is(err, unix.EPERM):
			return fmt.Errorf("%w: %w", ErrNoNftables, err)
		}
		return err
	}
	for id := range f.held {
		f.guards[id] = began.Add(f.groups[id].Guard)
	}
	for id := range f.standby {
		f.standby[id] = began.Add(standbyFor(f.groups[id].Guard))
	}
	return f.cut(f.outlasting(leaseEnds, began, time.Now()))
}

// outlasting are the groups whose leases may be too long in a table that was begun and is in place now: the kernel counts what was left of a lease
// from some moment in between.
func (f *Fence) outlasting(leaseEnds map[uint32]time.Time, began, now time.Time) (ids []uint32) {
	for id := range f.held {
		g, end := f.groups[id], leaseEnds[id]
		left := min(end.Sub(began), g.Lease)
		if left > 0 && now.Add(left).Sub(end) > max(g.Lease/8, lateness) {
			ids = append(ids, id)
		}
	}
	return ids
}

// cut ends leases. One that an advertisement has just renewed begins again with the next.
func (f *Fence) cut(ids []uint32) error {
	if len(ids) == 0 {
		return nil
	}
	return f.commit(func(c *nftables.Conn) error {
		var errs []error
		for _, id := range ids {
			errs = append(errs, f.putTime(c, leaseOf(id), 0))
		}
		return errors.Join(errs...)
	})
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

// buildMost makes as much of the tables as the kernel can.
func (f *Fence) buildMost(leaseEnds map[uint32]time.Time) (err error) {
	before := f.abilities
	for _, a := range allAbilities {
		if a.egress && !before.egress || a.routes && !before.routes || a.arp && !before.arp {
			continue // known not to be there
		}
		f.abilities = a
		if err = f.commit(func(c *nftables.Conn) error { return f.fill(c, leaseEnds) }); err == nil || !lacks(err) {
			break
		}
	}
	if err != nil {
		f.abilities = before
	}
	return err
}

// lacks tells whether a transaction failed because the kernel cannot do a part of it.
func lacks(err error) bool {
	return slices.ContainsFunc([]error{unix.EOPNOTSUPP, unix.EINVAL, unix.ENOENT, unix.EAFNOSUPPORT, unix.EPROTONOSUPPORT},
		func(e error) bool { return errors.Is(err, e) })
}

func (f *Fence) fill(c *nftables.Conn, leaseEnds map[uint32]time.Time) error {
	clearTable(c, f.table)
	c.AddTable(f.table)
	errs := f.addLeases(c, sorted(f.groups))
	for _, name := range []string{mapAddresses4, mapAddresses6} {
		if err := c.AddSet(f.addresses(name), nil); err != nil {
			return err
		}
	}
	if err := c.AddSet(f.timer(setOrphans), nil); err != nil {
		return err
	}
	// From the start on: what an earlier run has left may still speak.
	if err := f.putTime(c, setOrphans, orphanTime); err != nil {
		return err
	}
	f.orphans = time.Now()
	if f.egress {
		c.AddChain(f.chain(chainAdverts))
		c.AddChain(f.chain(chainEgress))
	}
	c.AddChain(f.chain(chainIngress))
	f.putBase(c, f.groups)
	for _, g := range sorted(f.groups) {
		errs = append(errs, f.addGroup(c, g))
	}
	errs = append(errs, f.putAddresses(c, f.groups))
	guards := map[uint32]time.Duration{}
	for id, shut := range f.held {
		guards[id] = f.groups[id].Guard
		errs = append(errs, f.putTimers(c, f.groups[id], 0, shut))
		// The last renewal is lost with the old table.
		if left := min(time.Until(leaseEnds[id]), f.groups[id].Lease); left >= time.Millisecond {
			errs = append(errs, f.putTime(c, leaseOf(id), left))
		}
	}
	for id := range f.standby {
		if f.canStandBy() {
			errs = append(errs, f.putStandby(c, f.groups[id]))
		}
	}
	errs = append(errs, f.putARP(c, f.groups, guards))
	return errors.Join(errs...)
}

// putBase replaces the rules of the chains that hang on the link.
func (f *Fence) putBase(c *nftables.Conn, groups map[uint32]Group) {
	in, out := f.chain(chainIngress), f.chain(chainEgress)
	c.FlushChain(in)
	addRules(c, in, familiesOf(groups).ingress())
	if f.egress {
		c.FlushChain(out)
		addRules(c, out, familiesOf(groups).egress())
	}
}

func addRules(c *nftables.Conn, ch *nftables.Chain, rules []match) {
	for _, r := range rules {
		c.AddRule(&nftables.Rule{Table: ch.Table, Chain: ch, Exprs: r})
	}
}

// addLeases adds the lease sets of groups that the table does not have yet. They come before all else that is added with them: the kernel finds
// a set by going through those of the table from the oldest on, and those of leases are the ones that it is asked for all the time.
func (f *Fence) addLeases(c *nftables.Conn, groups []Group) (errs []error) {
	for _, g := range groups {
		errs = append(errs, c.AddSet(f.timer(leaseOf(g.ID)), nil))
	}
	return errs
}

// addGroup adds a group that the table does not have yet, all but its addresses and its lease.
func (f *Fence) addGroup(c *nftables.Conn, g Group) error {
	errs := []error{c.AddSet(f.timer(guardOf(g.ID)), nil)}
	if f.canStandBy() {
		errs = append(errs, c.AddSet(f.timer(standbyOf(g.ID)), nil))
	}
	for _, name := range shutSets(g.ID) {
		errs = append(errs, c.AddSet(f.toggle(name), nil))
	}
	errs = append(errs, f.addSpread(c, g))
	addRules(c, c.AddChain(f.chain(chainOf(g.ID))), f.rules(g))
	f.addRenewal(c, g)
	return errors.Join(errs...)
}

func (f *Fence) addRenewal(c *nftables.Conn, g Group) {
	if r := renewal(g); f.egress && r != nil {
		addRules(c, f.chain(chainAdverts), []match{r})
	}
}

// deleteGroup takes away what addGroup added, except for its renewal, which goes with those of all others.
func (f *Fence) deleteGroup(c *nftables.Conn, g Group) error {
	id := g.ID
	c.FlushChain(f.chain(chainOf(id)))
	c.DelChain(f.chain(chainOf(id)))
	c.DelSet(f.timer(guardOf(id)))
	c.DelSet(f.timer(leaseOf(id)))
	if f.canStandBy() {
		c.DelSet(f.timer(standbyOf(id)))
	}
	for _, name := range shutSets(id) {
		c.DelSet(f.toggle(name))
	}
	return f.deleteSpread(c, g)
}

// putAddresses replaces the addresses of all groups.
func (f *Fence) putAddresses(c *nftables.Conn, groups map[uint32]Group) error {
	for name, elements := range addressElements(groups) {
		for part := range slices.Chunk(elements, elementsPerMessage) {
			if err := c.SetAddElements(f.addresses(name), part); err != nil {
				return err
			}
		}
	}
	return nil
}

func addressElements(groups map[uint32]Group) map[string][]nftables.SetElement {
	elements := map[string][]nftables.SetElement{}
	for id, g := range groups {
		for _, a := range g.Addresses {
			name, judge := addressesOf(a), &expr.Verdict{Kind: expr.VerdictJump, Chain: chainOf(id)}
			elements[name] = append(elements[name], nftables.SetElement{Key: a.AsSlice(), VerdictData: judge})
		}
	}
	return elements
}

// putHeld starts a group's guard again in both tables, and changes what is shut of it.
func (f *Fence) putHeld(c *nftables.Conn, g Group, was, shut Part) error {
	return errors.Join(f.putTimers(c, g, was, shut), f.putARPGuard(c, g.ID, g.Guard))
}

func (f *Fence) putTimers(c *nftables.Conn, g Group, was, shut Part) error {
	var errs []error
	for part, name := range shutSets(g.ID) {
		if was&part == shut&part {
			continue
		}
		change := c.SetAddElements
		if shut&part == 0 {
			change = c.SetDeleteElements
		}
		errs = append(errs, change(f.toggle(name), []nftables.SetElement{{Key: f.key()}}))
	}
	if g.Guard > 0 && time.Since(f.orphans) > orphanTime/20 {
		errs = append(errs, f.putTime(c, setOrphans, orphanTime))
		f.orphans = time.Now()
	}
	return errors.Join(append(errs, f.putTime(c, guardOf(g.ID), g.Guard))...)
}

// putTime starts a timer, or with no time stops it. It empties the set first, because before Linux 6.12 adding an element again does not start
// its time again.
func (f *Fence) putTime(c *nftables.Conn, timer string, left time.Duration) error {
	c.FlushSet(f.timer(timer))
	if left <= 0 {
		return nil
	}
	return c.SetAddElements(f.timer(timer), []nftables.SetElement{{Key: f.key(), Timeout: left}})
}

// sorted is the groups by ID, so that the same groups always make the same table.
func sorted(groups map[uint32]Group) []Group {
	return slices.SortedFunc(maps.Values(groups), func(a, b Group) int { return cmp.Compare(a.ID, b.ID) })
}
