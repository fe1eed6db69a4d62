package address

import (
	"errors"
	"slices"
	"time"

	"github.com/keepvip/keepvip/election"
	"github.com/keepvip/keepvip/internal/serve/instance"
)

// errNoFence is what status shows where there is none.
var errNoFence = errors.New("no fence: if keepvip dies, only the lifetime of the address removes it")

// news is where an elector tells that the lease has been extended; nil when it does not.
func news(e instance.Elector) <-chan struct{} {
	if e, ok := e.(election.Extender); ok {
		return e.Extended()
	}
	return nil
}

const (
	// fenceAgain is how long a service waits before it tries again what a fence has refused; twice as long after each time, up to
	// fenceAgainMost.
	fenceAgain     = time.Second
	fenceAgainMost = time.Minute
)

// termFence is the fence of one term. The zero termFence has none.
type termFence struct {
	*core
	fencer *fencer       // nil: none
	fenced Part          // the configuration that the fence has
	longer time.Time     // when the fence gets its longer lease; zero: it has none to get
	retry  time.Time     // when what the fence has refused is tried again; zero: nothing is
	wait   time.Duration // until then, the next time
}

// do does something where there is a fence.
func (t *termFence) do(what func(*fencer)) {
	if t.fencer != nil {
		what(t.fencer)
	}
}

// open puts up the fence for this term. Without one the node goes on: status says so, and it is tried again.
//
// An address of an earlier run stays silent until this node is elected: nobody knows yet whether another
// node has it. It stays bound, so that its connections live if it is elected.
func (t *termFence) open(bound bool) {
	*t = termFence{core: t.core, wait: fenceAgain}
	t.try(bound)
}

func (t *termFence) try(bound bool) {
	reason := errNoFence
	if t.cfg.Fence != nil {
		f, err := t.cfg.Fence(t.place, bound)
		if err == nil {
			t.fencer = newFencer(f, t.log, t.leasing(), bound)
			t.fencer.followSpread(t.cfg.Spread)
			t.fenced, t.retry = t.cfg, time.Time{}
			if t.fencer.mode() == tooFast {
				err = errTooFast
			}
		} else {
			reason = errors.Join(errNoFence, err)
			t.later()
		}
		if err != nil && t.wait <= 2*fenceAgain { // the first time
			t.log.Warn("no fence", "reason", err.Error())
		}
	}
	if !bound && !t.holdsLease() {
		t.do((*fencer).standBy)
	}
	t.shown.set(func(s *shown) { s.fence, s.unfenced = t.fencer, reason.Error() })
}

// coversAll tells whether the kernel can silence the addresses wherever they could answer.
func (t *termFence) coversAll() bool { return t.fencer != nil && t.fencer.uncovered() == "" }

// missing tells whether others have taken the fence away, and it is not there again.
func (t *termFence) missing() bool { return t.fencer != nil && t.fencer.missing.Load() }

// lost tells that it is; nil: there is none.
func (t *termFence) lost() <-chan struct{} {
	if t.fencer == nil {
		return nil
	}
	return t.fencer.worker.lost
}

// leasing is that of the elector. Its news are for one fence alone.
func (t *termFence) leasing() leasing {
	l := leasing{length: t.cfg.Lease, end: t.elector.LeaseEnd}
	if t.first == nil {
		l.news = news(t.elector)
	} else {
		l.first = t.first.kernelEnd
	}
	return l
}

// later tries again later, and later each time.
func (t *termFence) later() {
	t.retry = time.Now().Add(t.wait)
	t.wait = min(2*t.wait, fenceAgainMost)
}

// due does what is due of the fence.
func (t *termFence) due(now time.Time, left func() bool) {
	due := func(at time.Time) bool { return !at.IsZero() && !now.Before(at) }
	switch {
	case t.fencer == nil && due(t.retry):
		t.late(left())
	case t.fencer != nil && (due(t.retry) || due(t.longer)):
		if due(t.longer) {
			t.longer = time.Time{}
		}
		t.change()
	}
}

// late puts up a fence that could not be put up when the term began.
func (t *termFence) late(bound bool) {
	t.try(bound)
	if t.fencer == nil {
		return
	}
	t.log.Info("the fence is in place")
	if t.holdsLease() && !t.passing {
		t.fencer.resume()
	}
}

// adjust gives the fence the new addresses and lease: at once, but for a lease that is longer.
func (t *termFence) adjust(old Part) {
	if t.cfg.Fence == nil || t.cfg.Refence == nil || t.fencer == nil { // without one the next try is for the new ones
		return
	}
	switch {
	case t.cfg.Lease <= t.fenced.Lease:
		t.longer = time.Time{}
	case t.cfg.Lease > old.Lease || t.longer.IsZero():
		t.longer = time.Now().Add(old.Paced)
	}
	t.change()
}

// change makes the fence that of the newest configuration, but for a lease that has to stay shorter for a while. It is one change of
// the kernel's: whatever is guarded, or shut, is so before and after it.
func (t *termFence) change() {
	next := t.cfg
	if !t.longer.IsZero() {
		next.Lease = t.fenced.Lease
	}
	refused := !t.retry.IsZero() // it may yet be made, together with a change of another instance
	t.retry = time.Time{}
	t.fencer.followSpread(next.Spread)
	if !refused && slices.Equal(t.fenced.Addresses, next.Addresses) && t.fenced.Lease == next.Lease && t.fenced.Valid() == next.Valid() &&
		slices.Equal(t.fenced.spreadPorts(), next.spreadPorts()) {
		return
	}
	place := t.place // the worker may come to it later
	if !t.fencer.exchange(next.Lease, func(f Fence) error { return next.Refence(f, place, next.Lease) }) {
		t.log.Warn("the fence does not follow the configuration yet", "reason", t.fencer.seen().Reason)
		t.later()
		return
	}
	t.fenced, t.wait = next, fenceAgain
	if t.holdsLease() && !t.passing {
		t.fencer.hold()
	}
}

func (t *termFence) close() {
	t.do((*fencer).close)
	t.fencer, t.retry, t.longer = nil, time.Time{}, time.Time{}
	t.shown.set(func(s *shown) { s.fence = nil })
}
