package election

import "time"

const (
	firstRefusal = 10 * time.Second
	maxRefusal   = 5 * time.Minute
)

// Refusal is what follows in an election when the host could not bind the address. For a pause the node
// does not hold it at all, so that another can take over; then it takes part again but comes last, so that it
// does not take the address from a node that works; after a time that doubles it tries as itself. It is pure;
// the zero value is no refusal.
type Refusal struct {
	reason string
	wait   time.Duration
	pause  time.Time // out until then
	last   time.Time // comes last until then
}

// Begin starts a pause, and the time in which the node comes last; err is why.
func (r *Refusal) Begin(now time.Time, err error, pause time.Duration) {
	r.wait = min(max(2*r.wait, firstRefusal), maxRefusal)
	r.reason = "the address could not be bound: " + err.Error()
	r.pause, r.last = now.Add(pause), now.Add(r.wait)
}

// Reason is why the node comes last; empty when it does not.
func (r *Refusal) Reason() string { return r.reason }

// Wait is how long the node comes last this time.
func (r *Refusal) Wait() time.Duration { return r.wait }

// Next is when something changes by itself; zero when nothing does.
func (r *Refusal) Next() time.Time {
	if r.Pausing() {
		return r.pause
	}
	return r.last
}

// Due ends what has lasted long enough, and tells whether anything has.
func (r *Refusal) Due(now time.Time) bool {
	switch {
	case r.Pausing() && !now.Before(r.pause):
		r.pause = time.Time{}
		return true
	case !r.last.IsZero() && !now.Before(r.last):
		r.last, r.reason = time.Time{}, ""
		return true
	}
	return false
}

// Pausing tells whether the node must not hold the address at all.
func (r *Refusal) Pausing() bool { return !r.pause.IsZero() }

// Worsen is the fitness f as long as the refusal lasts.
func (r *Refusal) Worsen(f Fitness) Fitness {
	if r.reason == "" || f.Out {
		return f
	}
	return Fitness{Wait: f.Wait, Less: 255, Reason: r.reason}
}
