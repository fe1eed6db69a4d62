package fence

import (
	"sync"
	"sync/atomic"
	"time"
)

// looks shares the checks and repairs of a fence among its groups.
type looks struct {
	mu     sync.Mutex // guards what follows, and held for a check or repair at a time
	at     time.Time
	err    error
	mended time.Time

	missed atomic.Pointer[time.Time] // when a lease was not found, also by the clock that nobody steps; nil: never
}

func (l *looks) miss() {
	now := time.Now()
	l.missed.Store(&now)
}

func (l *looks) missedAt() time.Time {
	if at := l.missed.Load(); at != nil {
		return *at
	}
	return time.Time{}
}

// verify looks at the fence, unless another group has done so within the given time: what one would see all would.
// The time that is returned is that of the look.
func (l *looks) verify(within time.Duration, look func() error) (time.Time, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if now := time.Now(); now.Sub(l.at) >= within {
		l.at, l.err = now, look()
	}
	return l.at, l.err
}

// mend repairs the fence that was broken at some time, unless another group has done so since.
func (l *looks) mend(broke time.Time, repair func() error) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.mended.After(broke) {
		return nil
	}
	l.at = time.Time{}
	if err := repair(); err != nil {
		return err
	}
	l.mended = time.Now()
	return nil
}
