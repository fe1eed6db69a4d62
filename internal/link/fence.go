package link

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/google/nftables"
	"golang.org/x/sys/unix"
)

var (
	// ErrNoNftables: this kernel has no nftables for network devices, or this process may not use it.
	ErrNoNftables = errors.New("no nftables of the netdev family (CONFIG_NF_TABLES_NETDEV, CAP_NET_ADMIN)")
	// ErrLate: the tenure that was to be renewed is over.
	ErrLate = errors.New("the tenure is over already")
)

// Part is a way in which addresses answer; Parts add up.
type Part uint8

// What Shut can stop.
const (
	Discovery Part = 1 << iota // hearing ARP requests and neighbour solicitations for them, and saying either in their name
	In                         // hearing packets to them
	Out                        // sending packets from them
)

// Fence keeps a node from answering for addresses after its tenure, even if this process is frozen or gone: the kernel itself drops such
// frames as soon as the lease of their group has run out. It is an nftables table of our own on one link.
//
// Two timers decide for each group. Its guard says that the fence stands; Hold starts it. Its lease says that the node may answer; it is
// renewed by the group's advertisement at the moment it leaves, or by Renew. With the guard over, nothing is dropped: a fence that nobody
// tends opens by itself.
//
// Changing a table waits for whoever else is changing nftables at the time, which can take seconds on a node with very large rule sets. A
// caller in a hurry binds first and calls Hold from another goroutine. A Fence may be used from several.
type Fence struct {
	cfg   FenceConfig
	table *nftables.Table

	mu     sync.Mutex
	egress bool             // the kernel has the egress hook (Linux 5.16)
	groups map[uint32]Group // by ID
	held   map[uint32]Part  // IDs with a guard, and what is shut of them
	sound  uint32           // generation of nftables at which all was as it should be
}

// OpenFence puts an empty fence on a link, in place of one that an earlier run left there. It needs CAP_NET_ADMIN. The error wraps
// ErrNoNftables or ErrGone where that is the cause.
func OpenFence(cfg FenceConfig) (*Fence, error) {
	f := &Fence{
		cfg:    cfg,
		table:  &nftables.Table{Name: tableName(cfg.Index), Family: nftables.TableFamilyNetdev},
		egress: true,
		groups: map[uint32]Group{},
		held:   map[uint32]Part{},
	}
	if err := f.Rebuild(); err != nil {
		return nil, err
	}
	return f, nil
}

// Egress reports whether the kernel lets the fence see what leaves. If it does not, nothing is dropped on its way out, and only Renew renews.
func (f *Fence) Egress() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.egress
}

// Set makes the fence one for exactly these groups. Tenures of groups that stay go on, with new times from the next renewal on; others end.
func (f *Fence) Set(groups []Group) error {
	if err := validate(groups); err != nil {
		return f.wrap("set groups of", err)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	next := map[uint32]Group{}
	for _, g := range groups {
		g.Addresses = slices.Clone(g.Addresses)
		next[g.ID] = g
	}
	held := maps.Clone(f.held)
	maps.DeleteFunc(held, func(id uint32, _ Part) bool { _, stays := next[id]; return !stays })
	err := f.commit(func(c *nftables.Conn) error {
		return errors.Join(f.putGroups(c, next), f.putHeld(c, next, held))
	})
	if err != nil {
		return f.wrap("set groups of", err)
	}
	f.groups, f.held = next, held
	return nil
}

// Hold begins the tenure of a group, or goes on with it: its guard runs from now. Call it when the node becomes Active, and again well within
// the guard's time, as with the lifetime of the addresses. It does not renew the lease.
func (f *Fence) Hold(id uint32) error {
	return f.wrap("hold", f.change(id, func(held map[uint32]Part) { held[id] = held[id] }))
}

// Shut stops parts of a group from answering at once, lease or not, until Release or Reopen, or until the guard is over. The group must be held.
func (f *Fence) Shut(id uint32, parts Part) error {
	return f.wrap("shut", f.change(id, func(held map[uint32]Part) { held[id] |= parts }))
}

// Reopen takes Shut back.
func (f *Fence) Reopen(id uint32) error {
	return f.wrap("reopen", f.change(id, func(held map[uint32]Part) { held[id] = 0 }))
}

// Release ends the tenure of a group, whose addresses are off the link: nothing is dropped for it any more.
func (f *Fence) Release(id uint32) error {
	return f.wrap("release", f.change(id, func(held map[uint32]Part) { delete(held, id) }))
}

func (f *Fence) change(id uint32, edit func(map[uint32]Part)) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if _, ok := f.groups[id]; !ok {
		return fmt.Errorf("group %d is not set", id)
	}
	held := maps.Clone(f.held)
	edit(held)
	if err := f.commit(func(c *nftables.Conn) error { return f.putHeld(c, f.groups, held) }); err != nil {
		return err
	}
	f.held = held
	return nil
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
	start := time.Now()
	left := min(until.Sub(start), g.Lease)
	if left < time.Millisecond {
		return f.wrap("renew", errors.Join(ErrLate, f.putLease(id, 0)))
	}
	err := f.putLease(id, left)
	// The kernel began to count somewhere between start and now: the end it has in mind is no later than now + left.
	if late := time.Now().Add(left).Sub(until); err == nil && late > max(g.Lease/8, 20*time.Millisecond) {
		err = errors.Join(ErrLate, f.putLease(id, 0))
	}
	return f.wrap("renew", err)
}

// putLease replaces the group's lease; with no time left it takes it away.
func (f *Fence) putLease(id uint32, left time.Duration) error {
	set := f.set(setLease)
	old := []nftables.SetElement{{Key: groupKey(id)}}
	replace := func(remove bool) error {
		return f.commit(func(c *nftables.Conn) error {
			var errs []error
			if remove {
				errs = append(errs, c.SetDeleteElements(set, old))
			}
			if left > 0 {
				errs = append(errs, c.SetAddElements(set, []nftables.SetElement{{Key: groupKey(id), Timeout: left}}))
			}
			return errors.Join(errs...)
		})
	}
	// Before Linux 6.12 adding an element again does not start its time again; and one that has run out cannot be removed.
	err := replace(true)
	if errors.Is(err, unix.ENOENT) {
		err = replace(false)
	}
	return err
}

// Remove takes the fence away. One that is gone already is no error.
func (f *Fence) Remove() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	err := f.commit(func(c *nftables.Conn) error { c.DelTable(f.table); return nil })
	if errors.Is(err, unix.ENOENT) {
		return nil
	}
	return f.wrap("remove", err)
}

func (f *Fence) wrap(step string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("link: %s the fence on %s: %w", step, f.cfg.Name, err)
}

// commit carries out a transaction: all of it, or nothing.
func (f *Fence) commit(build func(*nftables.Conn) error) error {
	c, err := nftables.New()
	if err != nil {
		return err
	}
	if err := build(c); err != nil {
		return err
	}
	if err := c.Flush(); err != nil {
		return err
	}
	// If ours was the only change since all was well, all is well: no need to look.
	if now, err := generation(); err == nil && now == f.sound+1 {
		f.sound = now
	}
	return nil
}
