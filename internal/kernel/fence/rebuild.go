package fence

import (
	"errors"
	"fmt"
	"time"

	"golang.org/x/sys/unix"

	"github.com/keepvip/keepvip/internal/kernel/nfttables"
)

// rebuild makes the whole table anew in one transaction, with the groups and guards that it should have. A group that is held gets its guard
// and, until the next renewal, a lease that ends at the group's time in leaseEnds, or after its length if that is sooner. One whose time has
// passed, or that has none there, is silent.
func (f *linkFence) rebuild(leaseEnds map[uint32]time.Time) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.wrap("rebuild", f.build(leaseEnds))
}

// build makes the tables, on a kernel that cannot do all of it with what it can.
func (f *linkFence) build(leaseEnds map[uint32]time.Time) error {
	// Since Linux 6.16 the hook of a link that is not there is accepted, and waits for one of that name.
	name, err := f.kernel.linkName()
	if err != nil {
		return err
	}
	f.kernel.tables.link.device = name
	began := time.Now()
	if err := f.kernel.fill(&f.want, leaseEnds); err != nil {
		switch {
		case errors.Is(err, unix.ENODEV):
			return errGone
		case nfttables.Lacks(err), errors.Is(err, unix.EPERM):
			return fmt.Errorf("%w: %w", errNoNftables, err)
		}
		return err
	}
	f.want.rebuilt(began)
	return f.kernel.cut(f.want.outlasting(leaseEnds, began, time.Now()))
}
