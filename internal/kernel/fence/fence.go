package fence

import (
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/google/nftables"
	"golang.org/x/sys/unix"
)

var (
	// errNoNftables: this kernel has no nftables for network devices, or this process may not use it.
	errNoNftables = errors.New("no nftables of the netdev family (CONFIG_NF_TABLES_NETDEV, CAP_NET_ADMIN)")
	// errGone: there is no interface with that index any more.
	errGone = errors.New("the interface is gone")
	// errLate: the lease that was to be renewed is over.
	errLate = errors.New("the lease is over already")
)

// part is a way in which addresses answer; Parts add up.
type part uint8

// What shut can stop.
const (
	discovery part = 1 << iota // ARP and neighbour discovery for them and in their name
	inward                     // hearing anything for them
	outward                    // saying anything in their name
)

// linkFence keeps a node from answering for addresses without a lease, even if this process is frozen or gone: the kernel itself drops such
// frames as soon as the lease of their group has run out. It is an nftables table of our own on one link, and one for ARP on all others.
//
// Two timers decide for each group. Its guard says that the node holds the addresses, and puts the fence in place; hold starts it. Before,
// standBy starts one that counts from the moment in which an address is bound. Its lease says that the node may answer; it is renewed by
// the group's advertisement at the moment it leaves, or by renew. With the guard over, nothing is dropped: a fence that nobody tends opens
// by itself.
//
// Every method that changes something returns an error that wraps errBroken if others have taken the table, or a part of it, away.
//
// Changing a table waits for whoever else is changing nftables at the time, which can take seconds on a node with very large rule sets. A
// caller that must be fast has it on standby, calls hold from another goroutine and binds meanwhile. A linkFence may be used from several.
type linkFence struct {
	mu     sync.Mutex // guards what follows
	want   wanted
	kernel inKernel
}

// open puts a fence on the link that holds the addresses, in place of one that an earlier run left there. The link is a
// bridge or a bond itself, never one of its ports. Packets with the mark end the leases; 0: none do. The groups in
// bound, by their IDs, are those whose addresses an earlier run left on the link. They are held from the start, and at
// no time answer without a lease. It needs CAP_NET_ADMIN. The error wraps errNoNftables or errGone where that is the
// cause.
func open(index int, name string, mark Mark, groups []Group, bound ...uint32) (*linkFence, error) {
	f := &linkFence{kernel: inKernel{tables: tablesFor(index, name, mark)}}
	err := validate(groups)
	if err == nil {
		f.want, err = wantedOf(groups, bound)
	}
	if err == nil {
		err = f.build(nil)
	}
	if err != nil {
		return nil, f.wrap("open", err)
	}
	return f, nil
}

// egress reports whether the kernel lets the fence see what leaves. If it does not, nothing is dropped on its way out, and only renew renews.
func (f *linkFence) egress() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.kernel.tables.link.egress
}

// otherLinks reports whether the fence keeps the node's other links from answering ARP for the addresses.
func (f *linkFence) otherLinks() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.kernel.tables.arp.able
}

// groupCount is how many groups the fence is for.
func (f *linkFence) groupCount() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.want.groups)
}

// set makes the fence one for exactly these groups, in one step. Groups that stay and are held go on to be, with a new lease from the next
// renewal on, and with a guard that begins anew, as the addresses may live longer than they did; what is shut stays shut. Other groups are
// released. New groups whose IDs are in bound are held from the start, and without a lease, as with open.
func (f *linkFence) set(groups []Group, bound ...uint32) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := validate(groups); err != nil {
		return f.wrap("set groups", err)
	}
	next, begin := f.want.successors(groups, bound)
	began := time.Now()
	if err := f.kernel.commit(func(c *nftables.Conn) error { return f.kernel.tables.exchange(c, &f.want, next, begin) }); err != nil {
		return f.wrap("set groups", err)
	}
	f.want.replace(next, begin, began)
	return nil
}

// hold begins to hold groups, or goes on with it: their guards run from now. Call it when the node becomes Active, and again well within
// the guard's time, as with the lifetime of the addresses. It does not renew the lease.
func (f *linkFence) hold(ids ...uint32) error {
	return f.change("hold", ids, func(shut part) part { return shut })
}

// shut stops parts of a group from answering at once, lease or not, until release or reopen, or until the guard is over, which it starts again.
func (f *linkFence) shut(id uint32, parts part) error {
	return f.change("shut", []uint32{id}, func(shut part) part { return shut | parts })
}

// reopen takes shut back.
func (f *linkFence) reopen(id uint32) error {
	return f.change("reopen", []uint32{id}, func(part) part { return 0 })
}

// change changes all of the groups, or none.
func (f *linkFence) change(step string, ids []uint32, edit func(part) part) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.wrap(step, f.together(ids, func(c *nftables.Conn, id uint32) error {
		return f.kernel.tables.hold(c, &f.want, f.want.groups[id], edit(f.want.held[id]))
	}, func(id uint32, began time.Time) { f.want.hold(id, edit(f.want.held[id]), began) }))
}

// together puts what is to be changed of each of the groups into one transaction, and notes of each that it has come about. It needs the lock.
func (f *linkFence) together(ids []uint32, put func(*nftables.Conn, uint32) error, note func(id uint32, began time.Time)) error {
	for _, id := range ids {
		if _, err := f.want.group(id); err != nil {
			return err
		}
	}
	began := time.Now()
	err := f.kernel.commit(func(c *nftables.Conn) error {
		var errs []error
		for _, id := range ids {
			errs = append(errs, put(c, id))
		}
		return errors.Join(errs...)
	})
	if err == nil {
		for _, id := range ids {
			note(id, began)
		}
	}
	return err
}

// release ends what hold or standBy began, when the addresses of the group are off the link: nothing is dropped for it any more, and the next hold finds
// it open.
func (f *linkFence) release(id uint32) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	g, err := f.want.group(id)
	if err != nil {
		return f.wrap("release", err)
	}
	g.Guard = 0
	err = f.kernel.commit(func(c *nftables.Conn) error { return f.kernel.tables.hold(c, &f.want, g, 0) })
	if err == nil {
		f.want.forget(id)
	}
	return f.wrap("release", err)
}

// renew renews the lease of a group by hand, for an elector without advertisements and a kernel without the egress hook. The lease ends at
// until, or after its length if that is sooner. The error wraps errLate if until had passed, or if the kernel took so long that the lease
// would have outlived it; the group then has no lease. Five times a second is the most that other users of nftables should have to bear.
func (f *linkFence) renew(id uint32, until time.Time) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	g, err := f.want.group(id)
	if err != nil {
		return f.wrap("renew", err)
	}
	until = until.Add(-g.spare())
	left := min(time.Until(until), g.Lease)
	if left < time.Millisecond {
		return f.wrap("renew", errors.Join(errLate, f.kernel.cut([]uint32{id})))
	}
	err = f.kernel.renew(id, left)
	// The kernel began to count somewhere in between: the end it has in mind is no later than now + left.
	if over := time.Now().Add(left).Sub(until); err == nil && over > g.late() {
		err = errors.Join(errLate, f.kernel.cut([]uint32{id}))
	}
	return f.wrap("renew", err)
}

// lateness is what a transaction may take without making a renewal void: the kernel waits that long for itself, after an earlier one.
const lateness = 50 * time.Millisecond

// late is by how much a lease may outlast what a transaction was to give it.
func (g Group) late() time.Duration { return max(g.Lease/8, lateness) }

// spare is by how much less a transaction gives a lease that advertisements renew, so that one that is late, and a process that is stopped
// before it finds out, make no lease longer than allowed. The next advertisement makes up for it.
func (g Group) spare() time.Duration {
	if g.Advert.zero() {
		return 0 // whoever renews it has counted with that
	}
	return min(g.late(), g.Lease/4)
}

// remove takes the fence away. One that is gone already is no error.
func (f *linkFence) remove() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	err := f.kernel.commit(func(c *nftables.Conn) error {
		f.kernel.tables.remove(c)
		return nil
	})
	f.kernel.socket.close()
	return f.wrap("remove", err)
}

// wrap says where a step failed. It needs the lock: the link may be given another name.
func (f *linkFence) wrap(step string, err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, unix.ENOENT) && !errors.Is(err, errNoNftables) && !errors.Is(err, errBroken):
		// Everything that a transaction names, build has put there.
		err = fmt.Errorf("%w: %w", errBroken, err)
	}
	return fmt.Errorf("fence: %s on %s: %w", step, f.kernel.tables.link.device, err)
}
