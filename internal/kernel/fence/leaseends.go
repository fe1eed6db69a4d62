package fence

import (
	"maps"
	"sync"
	"time"
)

// leaseEnds knows whom to ask until when each group may answer. The kernel is told by every advertisement that leaves, and forgets it with
// the table: whoever has the fence built anew does so for all groups on the link, also for those whose lease is over. The zero value is
// ready.
type leaseEnds struct {
	mu sync.Mutex // guards of
	of map[uint32]func() time.Time
	// told are those who want to know that the fence was gone.
	told map[uint32]func()
}

func (l *leaseEnds) follow(id uint32, end func() time.Time, gone func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.of == nil {
		l.of, l.told = map[uint32]func() time.Time{}, map[uint32]func(){}
	}
	l.of[id], l.told[id] = end, gone
}

func (l *leaseEnds) forget(id uint32) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.of, id)
	delete(l.told, id)
}

// now asks all of them, without the lock.
func (l *leaseEnds) now() map[uint32]time.Time {
	l.mu.Lock()
	of := maps.Clone(l.of)
	l.mu.Unlock()
	ends := make(map[uint32]time.Time, len(of))
	for id, end := range of {
		ends[id] = end()
	}
	return ends
}
