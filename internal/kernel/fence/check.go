package fence

import (
	"errors"
	"fmt"
	"time"
)

// errBroken: the fence is not there as it should be. rebuild mends it.
var errBroken = errors.New("broken")

// verify reports whether the fence is in place as it was built: nil, or an error that wraps errBroken and names what is missing. It costs one short
// question while nobody has changed any nftables table since the last time, and is meant to be called about once a second.
func (f *linkFence) verify() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	// The hook follows the name, and is lost with it.
	if name, err := f.kernel.linkName(); err != nil {
		return f.wrap("check", err)
	} else if name != f.kernel.tables.link.device {
		return f.wrap("check", fmt.Errorf("%w: the interface is now called %s", errBroken, name))
	}
	if f.kernel.owned() {
		return f.wrap("check", f.want.allGuarded(time.Now()))
	}
	return f.wrap("check", f.kernel.inspect(&f.want))
}

// guarded reports whether a group has its guard: nil, or an error that wraps errBroken. Together with verify it says that the kernel ends the
// group's lease by itself. It asks nobody.
func (f *linkFence) guarded(id uint32) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.wrap("check", f.want.guarded(id, time.Now()))
}
