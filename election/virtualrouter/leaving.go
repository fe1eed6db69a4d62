package virtualrouter

import (
	"time"

	"github.com/keepvip/keepvip/election"
)

// departTime is how long a node that stops tries to pass the address on first.
const departTime = time.Second

// leaving is why this node gives the address away: somebody wants it elsewhere, or the node stops.
type leaving struct {
	m        *machine
	handover *handover // nil: none is under way
	until    time.Time // of the departure; zero before it
	why      stop
}

// abandon ends a handover as if its time were over, and tells whether it is the one that is under way.
func (l *leaving) abandon(now time.Time, h *handover) bool {
	if l.handover != h {
		return false
	}
	h.end = now
	return true
}

// depart begins the departure, which nothing delays yet.
func (l *leaving) depart(now time.Time, why stop) { l.until, l.why = now, why }

// linger delays the departure so that the address can be passed on, and returns the handover that is to begin; nil if one is under way.
func (l *leaving) linger(now time.Time) *handover {
	l.until = now.Add(departTime)
	if l.handover != nil {
		return nil
	}
	return &handover{reason: l.why.Reason, code: l.why.Code, done: make(chan error, 1), end: l.until}
}

// departs tells that the departure has begun.
func (l *leaving) departs() bool { return !l.until.IsZero() }

// worsen is the fitness f while the address is to be given away.
func (l *leaving) worsen(f election.Fitness) election.Fitness {
	h := l.handover
	switch {
	case f.Out:
		return f
	case h != nil && f.Less > 0 && f.Reason != "":
		return h.with(f)
	case h != nil:
		return election.Fitness{Wait: f.Wait, Less: 255, Reason: h.reason, Code: h.code}
	case l.departs():
		return election.Fitness{Wait: f.Wait, Less: 255, Reason: l.why.Reason, Code: l.why.Code}
	}
	return f
}
