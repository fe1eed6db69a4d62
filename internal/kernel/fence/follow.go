package fence

import (
	"maps"
	"time"
)

// contentsEvery is how often all of the tables is looked at most when others change nftables all the time. That the
// tables are there is looked at each time.
const contentsEvery = 500 * time.Millisecond

// follow looks at the fence after somebody else has changed nftables, and makes it anew, for all groups, if that is
// gone. They are told before, as the kernel may take its time. What is refused here they try again, as after any other
// look.
func (s *shared) follow() {
	at, err := time.Now(), s.present()
	if err == nil {
		at, err = s.looks.verify(contentsEvery, s.verify)
	}
	if err == nil {
		return
	}
	s.ends.tell()
	_ = s.looks.mend(at, func() error { return s.rebuild(s.ends.now()) })
}

// present reports whether the tables are there that were made: nil, or an error that wraps errBroken. What is in them
// it does not look at.
func (f *linkFence) present() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.wrap("look", f.kernel.present())
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
