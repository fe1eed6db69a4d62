package fence

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/google/nftables"
	"golang.org/x/sys/unix"
)

var (
	// ErrNoNftables: this kernel has no nftables for network devices, or this process may not use it.
	ErrNoNftables = errors.New("no nftables of the netdev family (CONFIG_NF_TABLES_NETDEV, CAP_NET_ADMIN)")
	// ErrGone: there is no interface with that index any more.
	ErrGone = errors.New("the interface is gone")
	// ErrLate: the lease that was to be renewed is over.
	ErrLate = errors.New("the lease is over already")
)

// Part is a way in which addresses answer; Parts add up.
type Part uint8

// What Shut can stop.
const (
	Discovery Part = 1 << iota // ARP and neighbour discovery for them and in their name
	In                         // hearing anything for them
	Out                        // saying anything in their name
)

// Fence keeps a node from answering for addresses without a lease, even if this process is frozen or gone: the kernel itself drops such
// frames as soon as the lease of their group has run out. It is an nftables table of our own on one link, and one for ARP on all others.
//
// Two timers decide for each group. Its guard says that the node holds the addresses, and puts the fence in place; Hold starts it. Before,
// Standby starts one that counts from the moment in which an address is bound. Its lease says that the node may answer; it is renewed by
// the group's advertisement at the moment it leaves, or by Renew. With the guard over, nothing is dropped: a fence that nobody tends opens
// by itself.
//
// Every method that changes something returns an error that wraps ErrBroken if others have taken the table, or a part of it, away.
//
// Changing a table waits for whoever else is changing nftables at the time, which can take seconds on a node with very large rule sets. A
// caller that must be fast has it on standby, calls Hold from another goroutine and binds meanwhile. A Fence may be used from several.
type Fence struct {
	mu sync.Mutex // guards what follows
	layout
	abilities
	socket sockets
	groups map[uint32]Group     // by ID
	held   map[uint32]Part      // IDs with a guard, and what is shut of them
	guards map[uint32]time.Time // until when, at least, if nobody else takes them away
	// standby is until when, at least, groups are on standby.
	standby map[uint32]time.Time
	sound   uint32 // generation of nftables at which all was as it should be
	own     uint32 // how many renewals of ours there have been since: each is one generation
	// orphans is when the time of the set of that name began.
	orphans time.Time
}

// Open puts a fence on a link, in place of one that an earlier run left there: at no time between the two does an address in Bound answer
// without a lease. It needs CAP_NET_ADMIN. The error wraps ErrNoNftables or ErrGone where that is the cause.
func Open(cfg Config) (*Fence, error) {
	f := &Fence{
		layout:    layout{cfg.Index, cfg.Name, &nftables.Table{Name: tableName(cfg.Index), Family: nftables.TableFamilyNetdev}},
		abilities: allAbilities[0],
		groups:    byID(cfg.Groups),
		held:      map[uint32]Part{},
		guards:    map[uint32]time.Time{}, standby: map[uint32]time.Time{},
	}
	if err := validate(cfg.Groups); err != nil {
		return nil, f.wrap("open", err)
	}
	for _, id := range cfg.Bound {
		if _, ok := f.groups[id]; !ok {
			return nil, f.wrap("open", fmt.Errorf("bound group %d is not among the groups", id))
		}
		f.held[id] = 0
	}
	if err := f.build(nil); err != nil {
		return nil, f.wrap("open", err)
	}
	return f, nil
}

func byID(groups []Group) map[uint32]Group {
	m := make(map[uint32]Group, len(groups))
	for _, g := range groups {
		g.Addresses, g.Spread.Ports = slices.Clone(g.Addresses), slices.Clone(g.Spread.Ports)
		m[g.ID] = g
	}
	return m
}

// Egress reports whether the kernel lets the fence see what leaves. If it does not, nothing is dropped on its way out, and only Renew renews.
func (f *Fence) Egress() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.egress
}

// Groups is how many groups the fence is for.
func (f *Fence) Groups() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.groups)
}

// Set makes the fence one for exactly these groups, in one step. Groups that stay and are held go on to be, with a new lease from the next
// renewal on, and with a guard that begins anew, as the addresses may live longer than they did; what is shut stays shut. Other groups are
// released. New groups whose IDs are in bound are held from the start, and without a lease, as those in Config.Bound.
func (f *Fence) Set(groups []Group, bound ...uint32) error {
	if err := validate(groups); err != nil {
		return f.wrap("set groups", err)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	next := byID(groups)
	for id, g := range next {
		if old := f.groups[id].Spread; old.Until.After(g.Spread.Until) {
			g.Spread.Until = old.Until
			next[id] = g
		}
	}
	bound = slices.DeleteFunc(slices.Clone(bound), func(id uint32) bool {
		_, stays := f.groups[id]
		_, wanted := next[id]
		return stays || !wanted
	})
	began := time.Now()
	if err := f.commit(func(c *nftables.Conn) error { return f.exchange(c, next, bound) }); err != nil {
		return f.wrap("set groups", err)
	}
	for _, id := range bound {
		f.held[id] = 0
		f.guards[id] = began.Add(next[id].Guard)
	}
	for id := range f.standby {
		if g, stays := next[id]; !stays {
			delete(f.standby, id)
		} else if changed(f.groups[id], g) {
			f.standby[id] = began.Add(standbyFor(max(f.groups[id].Guard, g.Guard)))
		}
	}
	for id := range f.held {
		if g, stays := next[id]; !stays {
			f.forget(id)
		} else if changed(f.groups[id], g) {
			f.guards[id] = began.Add(max(f.groups[id].Guard, g.Guard))
		}
	}
	f.groups = next
	return nil
}

// changed tells whether a group that stays is not what it was.
func changed(before, after Group) bool {
	return before.Lease != after.Lease || before.Guard != after.Guard || !slices.Equal(before.Addresses, after.Addresses)
}

func (f *Fence) forget(id uint32) {
	delete(f.standby, id)
	delete(f.held, id)
	delete(f.guards, id)
}

// exchange replaces groups by others, and touches nothing of those that stay but their addresses and their renewal.
func (f *Fence) exchange(c *nftables.Conn, next map[uint32]Group, bound []uint32) error {
	errs := f.addLeases(c, slices.DeleteFunc(sorted(next), func(g Group) bool { _, stays := f.groups[g.ID]; return stays }))
	guards := map[uint32]time.Duration{}
	f.putBase(c, next)
	c.FlushSet(f.addresses(mapAddresses4))
	c.FlushSet(f.addresses(mapAddresses6))
	if f.egress {
		c.FlushChain(f.chain(chainAdverts))
	}
	for id, g := range f.groups {
		if _, stays := next[id]; !stays {
			errs = append(errs, f.deleteGroup(c, g))
		}
	}
	for _, g := range sorted(next) {
		old, stays := f.groups[g.ID]
		if !stays {
			errs = append(errs, f.addGroup(c, g))
			continue
		}
		f.addRenewal(c, g)
		errs = append(errs, f.changeSpread(c, old, g))
		if _, standing := f.standby[g.ID]; standing && changed(old, g) {
			errs = append(errs, f.putStandby(c, Group{ID: g.ID, Guard: max(old.Guard, g.Guard)}))
		}
		shut, held := f.held[g.ID]
		switch {
		case held && changed(old, g):
			g.Guard = max(old.Guard, g.Guard) // addresses that stay live on for as long as they were given before
			guards[g.ID] = g.Guard
			errs = append(errs, f.putTimers(c, g, shut, shut))
		case held:
			guards[g.ID] = time.Until(f.guards[g.ID])
		}
	}
	errs = append(errs, f.putAddresses(c, next))
	for _, id := range bound {
		guards[id] = next[id].Guard
		errs = append(errs, f.putTimers(c, next[id], 0, 0))
	}
	errs = append(errs, f.putARP(c, next, guards))
	return errors.Join(errs...)
}

// Hold begins to hold groups, or goes on with it: their guards run from now. Call it when the node becomes Active, and again well within
// the guard's time, as with the lifetime of the addresses. It does not renew the lease.
func (f *Fence) Hold(ids ...uint32) error {
	return f.change("hold", ids, func(shut Part) Part { return shut })
}

// Shut stops parts of a group from answering at once, lease or not, until Release or Reopen, or until the guard is over, which it starts again.
func (f *Fence) Shut(id uint32, parts Part) error {
	return f.change("shut", []uint32{id}, func(shut Part) Part { return shut | parts })
}

// Reopen takes Shut back.
func (f *Fence) Reopen(id uint32) error {
	return f.change("reopen", []uint32{id}, func(Part) Part { return 0 })
}

// change changes all of the groups, or none.
func (f *Fence) change(step string, ids []uint32, edit func(Part) Part) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, id := range ids {
		if _, ok := f.groups[id]; !ok {
			return f.wrap(step, fmt.Errorf("group %d is not set", id))
		}
	}
	began := time.Now()
	err := f.commit(func(c *nftables.Conn) error {
		var errs []error
		for _, id := range ids {
			errs = append(errs, f.endStandby(c, id), f.putHeld(c, f.groups[id], f.held[id], edit(f.held[id])))
		}
		return errors.Join(errs...)
	})
	if err == nil {
		for _, id := range ids {
			delete(f.standby, id)
			f.held[id] = edit(f.held[id])
			f.guards[id] = began.Add(f.groups[id].Guard)
		}
	}
	return f.wrap(step, err)
}

// Release ends what Hold or Standby began, when the addresses of the group are off the link: nothing is dropped for it any more, and the next Hold finds
// it open.
func (f *Fence) Release(id uint32) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	g, ok := f.groups[id]
	if !ok {
		return f.wrap("release", fmt.Errorf("group %d is not set", id))
	}
	g.Guard = 0
	err := f.commit(func(c *nftables.Conn) error { return errors.Join(f.endStandby(c, id), f.putHeld(c, g, f.held[id], 0)) })
	if err == nil {
		f.forget(id)
	}
	return f.wrap("release", err)
}

// Renew renews the lease of a group by hand, for an elector without advertisements and a kernel without the egress hook. The lease ends at
// until, or after its length if that is sooner. The error wraps ErrLate if until had passed, or if the kernel took so long that the lease
// would have outlived it; the group then has no lease. Five times a second is the most that other users of nftables should have to bear.
func (f *Fence) Renew(id uint32, until time.Time) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	g, ok := f.groups[id]
	if !ok {
		return f.wrap("renew", fmt.Errorf("group %d is not set", id))
	}
	put := func(left time.Duration) func(*nftables.Conn) error {
		return func(c *nftables.Conn) error { return f.putTime(c, leaseOf(id), left) }
	}
	left := min(time.Until(until), g.Lease)
	if left < time.Millisecond {
		return f.wrap("renew", errors.Join(ErrLate, f.commit(put(0))))
	}
	err := f.socket.renew(f.table.Name, leaseOf(id), f.key(), left)
	if err == nil {
		f.own++
	} else {
		f.orphans = time.Time{}
		f.socket.close()
	}
	// The kernel began to count somewhere in between: the end it has in mind is no later than now + left.
	if over := time.Now().Add(left).Sub(until); err == nil && over > max(g.Lease/8, lateness) {
		err = errors.Join(ErrLate, f.commit(put(0)))
	}
	return f.wrap("renew", err)
}

// clearTable takes a table away. To add it first makes that succeed whether or not it is there.
func clearTable(c *nftables.Conn, t *nftables.Table) {
	c.AddTable(t)
	c.DelTable(t)
}

// lateness is what a transaction may take without making a renewal void: the kernel waits that long for itself, after an earlier one.
const lateness = 50 * time.Millisecond

// Remove takes the fence away. One that is gone already is no error.
func (f *Fence) Remove() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	err := f.commit(func(c *nftables.Conn) error {
		clearTable(c, f.table)
		if f.arp {
			clearTable(c, f.arpTable())
		}
		return nil
	})
	f.socket.close()
	return f.wrap("remove", err)
}

func (f *Fence) wrap(step string, err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, unix.ENOENT) && !errors.Is(err, ErrNoNftables) && !errors.Is(err, ErrBroken):
		// Everything that a transaction names, build has put there.
		err = fmt.Errorf("%w: %w", ErrBroken, err)
	}
	return fmt.Errorf("fence: %s on %s: %w", step, f.device, err)
}

// commit carries out a transaction, and notes that all is well if it was and nobody else has changed anything since. One that
// changes nothing is no generation, so that they cannot be counted.
func (f *Fence) commit(build func(*nftables.Conn) error) error {
	if err := f.transact(build); err != nil {
		return err
	}
	if now, err := f.socket.generation(); err == nil && now == f.sound+f.own+1 {
		f.sound, f.own = now, 0
	}
	return nil
}

// transact carries out a transaction: all of it, or nothing.
func (f *Fence) transact(build func(*nftables.Conn) error) error {
	c, err := f.socket.tables()
	if err != nil {
		return err
	}
	if err := build(c); err != nil {
		f.socket.close() // with what was half built
		return err
	}
	if err := c.Flush(); err != nil {
		f.orphans = time.Time{}
		f.socket.close() // with the answers that are still to come
		return err
	}
	return nil
}
