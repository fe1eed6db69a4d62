package auth

import (
	"maps"
	"time"
)

const (
	// Default is the width of a window where nothing else is configured.
	Default = 10 * time.Second

	// tolerance is by how much packets of one sender may differ in how long they take, and the clocks of two nodes that agree.
	tolerance = 2 * time.Second
	// driftShare is the part of the elapsed time by which a sender's clock may run slower than ours.
	driftShare = 1000
	// maxSenders is from where on senders are forgotten whose packets are all too old by now. Only who has the key adds one.
	maxSenders = 1024
)

// packet is what a [window] looks at.
type packet struct {
	Sequence uint64    // greater in each packet of a sender
	Made     time.Time // by the sender's clock
	At       time.Time // when it arrived; the monotonic reading counts
	Clock    time.Time // our [Clock] then
}

// age is how old the packet is by our clock; negative if the sender's is ahead.
func (p packet) age() time.Duration { return p.Clock.Sub(p.Made) }

// Judgement is what a packet turned out to be.
type Judgement uint8

// The verdicts, of which a [window] gives the first three.
const (
	Fresh      Judgement = iota
	Repeated             // heard before, or older than what was heard
	Stale                // made too far from our time
	UnknownKey           // made with a key that is not configured
	Forged               // not made with that key, or changed since
)

// window judges packets by the sequence and the time of their senders, of which S tells one from another. A packet is fresh if
// its sequence is greater than the sender's last, and
//
//   - it is the first of its sender, and its time differs from ours by the width at most; or
//   - it is no older than the width by our clock; or
//   - it is no later than the sender's other packets were, to 2 s: a sender remains known when its clock, or ours, is set
//     while it runs; or
//   - the sender's clock once agreed with ours, to 2 s, and the sender was silent for longer than the width and for as long as
//     the packet is late: its machine stood still.
//
// So what was captured of a sender that is dead counts for the width, and 2 s, after its death at most. A Window is not safe
// for concurrent use.
type window[S comparable] struct {
	width   time.Duration
	senders map[S]record
}

// record is what is known of a sender.
type record struct {
	last   packet
	best   packet // the one that took the shortest time
	agreed bool   // its clock was once as ours
}

// newWindow returns a window that knows nobody.
func newWindow[S comparable](width time.Duration) *window[S] {
	return &window[S]{width: width, senders: map[S]record{}}
}

// setWidth changes the width; what is known of the senders remains.
func (w *window[S]) setWidth(width time.Duration) { w.width = width }

// judge tells whether a packet is fresh, and leaves no trace. With Repeated comes how long before the sender's last packet it was
// made, with Stale by how much its time differs from ours.
func (w *window[S]) judge(s S, p packet) (Judgement, time.Duration) {
	r, known := w.senders[s]
	switch {
	case !known && p.age().Abs() > w.width:
		return Stale, p.age().Abs()
	case !known:
		return Fresh, 0
	case p.Sequence <= r.last.Sequence:
		return Repeated, r.last.Made.Sub(p.Made)
	case p.age() <= w.width, r.late(p) <= tolerance, w.paused(r, p):
		return Fresh, 0
	}
	return Stale, p.age()
}

// note remembers a packet that was fresh, and that was otherwise right.
func (w *window[S]) note(s S, p packet) {
	r, known := w.senders[s]
	if !known {
		w.forget(p)
	}
	if !known || r.late(p) <= 0 || w.paused(r, p) {
		r.best = p
	}
	r.last, r.agreed = p, r.agreed || p.age().Abs() <= tolerance
	w.senders[s] = r
}

// late is how much longer a packet took than the best one.
func (r record) late(p packet) time.Duration {
	elapsed := p.At.Sub(r.best.At)
	return r.best.Made.Add(elapsed - elapsed/driftShare).Sub(p.Made)
}

// paused tells that the sender's machine stood still, and its clock with it.
func (w *window[S]) paused(r record, p packet) bool {
	silent, late := p.At.Sub(r.last.At), r.late(p)
	return r.agreed && late > tolerance && silent > w.width && late <= silent+tolerance
}

// forget drops the senders of whom nothing would count any more, if there are too many.
func (w *window[S]) forget(now packet) {
	if len(w.senders) < maxSenders {
		return
	}
	maps.DeleteFunc(w.senders, func(_ S, r record) bool {
		return now.At.Sub(r.last.At) > w.width && now.Clock.Sub(r.last.Made) > w.width
	})
}
