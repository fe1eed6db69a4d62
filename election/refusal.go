package election

import "time"

const (
	firstRefusal = 10 * time.Second
	maxRefusal   = 5 * time.Minute
)

// refusal is what follows when the host could not bind the address. For one Active_Down_Interval the
// node stays out, so that another can take over; then it takes part again but comes last, so that it
// does not take the address from a node that works; after a time that doubles it tries as itself.
type refusal struct {
	reason string
	wait   time.Duration
	pause  time.Time // out until then
	last   time.Time // comes last until then
}

func (r *refusal) begin(now time.Time, err error, down time.Duration) {
	r.wait = min(max(2*r.wait, firstRefusal), maxRefusal)
	r.reason = "the address could not be bound: " + err.Error()
	r.pause, r.last = now.Add(down), now.Add(r.wait)
}

// next is when something changes by itself; zero when nothing does.
func (r *refusal) next() time.Time {
	if r.pausing() {
		return r.pause
	}
	return r.last
}

// due ends what has lasted long enough, and tells whether anything has.
func (r *refusal) due(now time.Time) bool {
	switch {
	case r.pausing() && !now.Before(r.pause):
		r.pause = time.Time{}
		return true
	case !r.last.IsZero() && !now.Before(r.last):
		r.last, r.reason = time.Time{}, ""
		return true
	}
	return false
}

func (r *refusal) pausing() bool { return !r.pause.IsZero() }

// worsen is the fitness f as long as the refusal lasts.
func (r *refusal) worsen(f Fitness) Fitness {
	if r.reason == "" || f.Out {
		return f
	}
	return Fitness{Less: 255, Reason: r.reason}
}
