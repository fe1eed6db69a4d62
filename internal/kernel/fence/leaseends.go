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
}

func (l *leaseEnds) follow(id uint32, end func() time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.of == nil {
		l.of = map[uint32]func() time.Time{}
	}
	l.of[id] = end
}

func (l *leaseEnds) forget(id uint32) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.of, id)
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
