package fence

import (
	"errors"
	"fmt"
	"time"

	"github.com/google/nftables"
	"golang.org/x/sys/unix"

	"github.com/keepvip/keepvip/internal/kernel/nfttables"
)

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
	name, err := f.socket.LinkName(f.tables.link.index)
	if errors.Is(err, unix.ENODEV) {
		return errGone
	} else if err != nil {
		return err
	}
	f.tables.link.device = name
	began := time.Now()
	if err := f.buildMost(leaseEnds); err != nil {
		switch {
		case errors.Is(err, unix.ENODEV):
			return errGone
		case nfttables.Lacks(err), errors.Is(err, unix.EPERM):
			return fmt.Errorf("%w: %w", errNoNftables, err)
		}
		return err
	}
	f.want.rebuilt(began)
	return f.cut(f.want.outlasting(leaseEnds, began, time.Now()))
}

// cut ends leases. One that an advertisement has just renewed begins again with the next.
func (f *Fence) cut(ids []uint32) error {
	if len(ids) == 0 {
		return nil
	}
	return f.commit(func(c *nftables.Conn) error { return f.tables.link.cut(c, ids) })
}

// buildMost makes as much of the tables as the kernel can.
func (f *Fence) buildMost(leaseEnds map[uint32]time.Time) (err error) {
	before := f.tables.abilities()
	for _, a := range allAbilities {
		if a.egress && !before.egress || a.routes && !before.routes || a.arp && !before.arp {
			continue // known not to be there
		}
		f.tables.use(a)
		if err = f.commit(func(c *nftables.Conn) error { return f.tables.fill(c, &f.want, leaseEnds) }); err == nil || !nfttables.Lacks(err) {
			break
		}
	}
	if err != nil {
		f.tables.use(before)
	}
	return err
}
