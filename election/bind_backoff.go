package election

import (
	"time"

	"github.com/keepvip/keepvip/internal/base/code"
)

const (
	firstBackoff = 10 * time.Second
	maxBackoff   = 5 * time.Minute
)

// BindBackoff is what follows in an election when the host could not bind the address. For a pause the node
// does not hold it at all, so that another can take over; then it takes part again but comes last, so that it
// does not take the address from a node that works; after a time that doubles it tries as itself. It is pure;
// the zero value holds nothing back.
type BindBackoff struct {
	reason string
	wait   time.Duration
	pause  time.Time // out until then
	last   time.Time // comes last until then
}

// Begin starts a pause, and the time in which the node comes last; err is why.
func (b *BindBackoff) Begin(now time.Time, err error, pause time.Duration) {
	b.wait = min(max(2*b.wait, firstBackoff), maxBackoff)
	b.reason = "the address could not be bound: " + err.Error()
	b.pause, b.last = now.Add(pause), now.Add(b.wait)
}

// Reason is why the node comes last; empty when it does not.
func (b *BindBackoff) Reason() string { return b.reason }

// Wait is how long the node comes last this time.
func (b *BindBackoff) Wait() time.Duration { return b.wait }

// Next is when something changes by itself; zero when nothing does.
func (b *BindBackoff) Next() time.Time {
	if b.Pausing() {
		return b.pause
	}
	return b.last
}

// Due ends what has lasted long enough, and tells whether anything has.
func (b *BindBackoff) Due(now time.Time) bool {
	switch {
	case b.Pausing() && !now.Before(b.pause):
		b.pause = time.Time{}
		return true
	case !b.last.IsZero() && !now.Before(b.last):
		b.last, b.reason = time.Time{}, ""
		return true
	}
	return false
}

// Pausing tells whether the node must not hold the address at all.
func (b *BindBackoff) Pausing() bool { return !b.pause.IsZero() }

// Worsen is the fitness f as long as the backoff lasts.
func (b *BindBackoff) Worsen(f Fitness) Fitness {
	if b.reason == "" || f.Out {
		return f
	}
	return Fitness{Wait: f.Wait, Less: 255, Reason: b.reason, Code: code.BindRefused}
}
