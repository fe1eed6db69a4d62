package fence

import (
	"errors"
	"fmt"
	"time"

	"golang.org/x/sys/unix"

	"github.com/keepvip/keepvip/internal/kernel/nfttables"
)

// errBroken: the fence is not there as it should be. Rebuild mends it.
var errBroken = errors.New("broken")

// Verify reports whether the fence is in place as it was built: nil, or an error that wraps errBroken and names what is missing. It costs one short
// question while nobody has changed any nftables table since the last time, and is meant to be called about once a second.
func (f *Fence) Verify() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	// The hook follows the name, and is lost with it.
	if name, err := f.socket.LinkName(f.tables.link.index); errors.Is(err, unix.ENODEV) {
		return f.wrap("check", errGone)
	} else if err != nil {
		return f.wrap("check", err)
	} else if name != f.tables.link.device {
		return f.wrap("check", fmt.Errorf("%w: the interface is now called %s", errBroken, name))
	}
	if f.owned() {
		return f.wrap("check", f.want.allGuarded(time.Now()))
	}
	now, err := f.socket.Generation()
	if err != nil {
		return f.wrap("check", err)
	}
	// If nobody but this fence has changed anything since all was well, all is well: no need to look.
	if f.generations.unchanged(now) {
		f.generations.verified(now)
		return nil
	}
	if err := f.inspect(); err != nil {
		f.socket.endLists()
		return f.wrap("check", fmt.Errorf("%w: %w", errBroken, err))
	}
	f.generations.verified(now)
	return nil
}

// owned reports whether the kernel lets nobody else change the tables.
func (f *Fence) owned() bool {
	if !nfttables.Owning() {
		return false
	}
	for _, id := range f.tables.ids() {
		if s, err := f.socket.Table(id); err != nil || !s.Mine {
			return false
		}
	}
	return true
}

// Guarded reports whether a group has its guard: nil, or an error that wraps errBroken. Together with Verify it says that the kernel ends the
// group's lease by itself. It asks nobody.
func (f *Fence) Guarded(id uint32) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.wrap("check", f.want.guarded(id, time.Now()))
}

// inspect compares all that the kernel has with what it should be.
func (f *Fence) inspect() error {
	c, err := f.socket.lists()
	if err != nil {
		return err
	}
	return inspector{c, &f.tables, &f.want}.all()
}
