package raftelection

import "time"

const (
	firstRefusal = 10 * time.Second
	mostRefusal  = 5 * time.Minute
)

// refusal is what follows when the host could not bind the address: for a moment the node does not hold at all, so that
// another can; then it comes last, for a time that doubles. It is pure.
type refusal struct {
	reason string
	wait   time.Duration
	pause  time.Time // does not hold until then
	last   time.Time // comes last until then
}

func (r *refusal) begin(now time.Time, err error, pause time.Duration) {
	r.wait = min(max(2*r.wait, firstRefusal), mostRefusal)
	r.reason = "the address could not be bound: " + err.Error()
	r.pause, r.last = now.Add(pause), now.Add(r.wait)
}

func (r *refusal) pausing() bool { return !r.pause.IsZero() }

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
