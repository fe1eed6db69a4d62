package fence

import (
	"fmt"
	"maps"
	"time"

	"github.com/keepvip/keepvip/internal/kernel/nfttables"
)

// contentsEvery is how often all of the tables is looked at most when others change nftables all the time. That the
// tables are there is looked at each time.
const contentsEvery = 500 * time.Millisecond

// follow looks at the fence after somebody else has changed nftables, and makes it anew, for all groups, if that is
// gone. They are told before, as the kernel may take its time. What is refused here they try again, as after any other
// look.
func (s *shared) follow() {
	at, err := time.Now(), s.Present()
	if err == nil {
		at, err = s.looks.verify(contentsEvery, s.Verify)
	}
	if err == nil {
		return
	}
	s.ends.tell()
	_ = s.looks.mend(at, func() error { return s.Rebuild(s.ends.now()) })
}

// Present reports whether the tables are there that were made: nil, or an error that wraps errBroken. What is in them
// it does not look at.
func (f *Fence) Present() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, id := range f.tables.ids() {
		if s, err := f.socket.Table(id); err != nil {
			return f.wrap("look", fmt.Errorf("%w: table %s: %w", errBroken, id, err))
		} else if s.Handle != f.made[id] {
			return f.wrap("look", fmt.Errorf("%w: table %s is another one", errBroken, id))
		}
	}
	return nil
}

// remember notes which tables were made. One that somebody has deleted in this very moment is missing for Present.
func (f *Fence) remember() {
	f.made = map[nfttables.ID]uint64{}
	for _, id := range f.tables.ids() {
		if s, err := f.socket.Table(id); err == nil {
			f.made[id] = s.Handle
		}
	}
}

// tell tells all groups that the fence was gone.
func (l *leaseEnds) tell() {
	l.mu.Lock()
	told := maps.Clone(l.told)
	l.mu.Unlock()
	for _, tell := range told {
		tell()
	}
}
