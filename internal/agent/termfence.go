package agent

import (
	"errors"
	"net/netip"
	"slices"
	"time"

	"github.com/keepvip/keepvip/election"
)

// errNoFence is what status shows where there is none.
var errNoFence = errors.New("no fence: if keepvip dies, only the lifetime of the address removes it")

// holdsLease tells whether this node may answer at this moment. A process that was frozen wakes with an
// address that the kernel has taken away: it must not put it back, nor announce it, before the elector
// has looked at what arrived meanwhile.
func (l *loop) holdsLease() bool {
	return l.state() == election.Active && l.elector != nil && time.Now().Before(l.elector.LeaseEnd())
}

// news is where an elector tells that the lease has been extended; nil when it does not.
func news(e election.Elector) <-chan struct{} {
	if e, ok := e.(election.Extender); ok {
		return e.Extended()
	}
	return nil
}

const (
	// fenceAgain is how long a loop waits before it tries again what a fence has refused; twice as long after each time, up to
	// fenceAgainMost.
	fenceAgain     = time.Second
	fenceAgainMost = time.Minute
)

// openFence puts up the fence for this term. Without one the node goes on: status says so, and it is tried again.
//
// An address of an earlier run stays silent until this node is elected: nobody knows yet whether another
// node has it. It stays bound, so that its connections live if it is elected.
func (l *loop) openFence() {
	l.fence, l.refence, l.fenceRetry, l.fenceWait = nil, time.Time{}, time.Time{}, fenceAgain
	l.tryFence(l.adopting && len(l.host.Bound(l.in.Addresses)) > 0)
}

func (l *loop) tryFence(bound bool) {
	reason := errNoFence
	if l.in.Fence != nil {
		f, err := l.in.Fence(l.place, bound)
		if err == nil {
			l.fence = newFencer(f, l.log, l.elector.LeaseEnd, news(l.elector), l.in.Lease, bound)
			l.fenced, l.fenceRetry = l.in, time.Time{}
			if l.fence.mode() == tooFast {
				err = errTooFast
			}
		} else {
			reason = errors.Join(errNoFence, err)
			l.retryFence()
		}
		if err != nil && l.fenceWait <= 2*fenceAgain { // the first time
			l.log.Warn("no fence", "reason", err.Error())
		}
	}
	if l.fence != nil && !bound && !l.holdsLease() {
		l.fence.standBy()
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.view.fence, l.view.unfenced = l.fence, reason.Error()
}

// retryFence tries again later, and later each time.
func (l *loop) retryFence() {
	l.fenceRetry = time.Now().Add(l.fenceWait)
	l.fenceWait = min(2*l.fenceWait, fenceAgainMost)
}

// fenceDue does what is due of the fence.
func (l *loop) fenceDue(now time.Time) {
	due := func(t time.Time) bool { return !t.IsZero() && !now.Before(t) }
	switch {
	case l.fence == nil && due(l.fenceRetry):
		l.fenceLate()
	case l.fence != nil && (due(l.fenceRetry) || due(l.refence)):
		if due(l.refence) {
			l.refence = time.Time{}
		}
		l.changeFence()
	}
}

// fenceLate puts up a fence that could not be put up when the term began.
func (l *loop) fenceLate() {
	l.tryFence(l.adopting && len(l.host.Bound(l.in.Addresses)) > 0)
	if l.fence == nil {
		return
	}
	l.log.Info("the fence is in place")
	if l.holdsLease() && !l.passing {
		l.fence.resume()
	}
}

// adjustFence gives the fence the new addresses and lease: at once, but for a lease that is longer.
func (l *loop) adjustFence(old Instance) {
	if l.in.Fence == nil || l.in.Refence == nil {
		return
	}
	if l.fence == nil {
		return // the next try is for the new ones
	}
	switch {
	case l.in.Lease <= l.fenced.Lease:
		l.refence = time.Time{}
	case l.in.Lease > old.Lease || l.refence.IsZero():
		l.refence = time.Now().Add(old.Paced)
	}
	l.changeFence()
}

// changeFence makes the fence that of the newest configuration, but for a lease that has to stay shorter for a while. It is one change of
// the kernel's: whatever is guarded, or shut, is so before and after it.
func (l *loop) changeFence() {
	next := l.in
	if !l.refence.IsZero() {
		next.Lease = l.fenced.Lease
	}
	l.fenceRetry = time.Time{}
	if slices.Equal(l.fenced.Addresses, next.Addresses) && l.fenced.Lease == next.Lease && l.fenced.Valid() == next.Valid() {
		return
	}
	if !l.fence.exchange(next.Lease, func(f Fence) error { return next.Refence(f, l.place, next.Lease) }) {
		l.log.Warn("the fence does not follow the configuration yet", "reason", l.fence.seen().Reason)
		l.retryFence()
		return
	}
	l.fenced, l.fenceWait = next, fenceAgain
	if l.holdsLease() && !l.passing {
		l.fence.hold()
	}
}

func (l *loop) closeFence() {
	if l.fence == nil {
		return
	}
	l.fence.close()
	l.fence = nil
	l.mu.Lock()
	defer l.mu.Unlock()
	l.view.fence = nil
}

// renew keeps the addresses and the guard alive for another while.
func (l *loop) renew(now time.Time) {
	if l.renewal.IsZero() || now.Before(l.renewal) {
		return
	}
	l.renewal = l.in.renewAfter(now)
	if !l.holdsLease() {
		return
	}
	if err := l.bind(); err != nil {
		l.log.Warn("address not renewed", "error", err)
	}
	if l.fence != nil {
		l.fence.hold()
	}
}

// letGo takes the addresses off in the order that clients notice at once: nothing comes in any more,
// the resets of their connections leave, then nothing leaves, then the addresses go.
func (l *loop) letGo() error {
	l.renewal = time.Time{}
	l.stopForwarding()
	l.countUndrained()
	if l.fence != nil {
		l.fence.shutIn()
	}
	l.resetConnections()
	if l.fence != nil {
		l.fence.shutOut()
	}
	err := l.unbind()
	if l.fence != nil {
		l.fence.release()
	}
	return err
}

// resetConnections ends what clients have open.
func (l *loop) resetConnections() { l.reset(l.in.hosts()) }

// reset does not let a kernel with very many sockets hold up the release.
func (l *loop) reset(addresses []netip.Addr) {
	if l.in.Reset == nil || len(addresses) == 0 {
		return
	}
	done := make(chan struct{})
	go func(reset func([]netip.Addr) error) {
		defer close(done)
		if err := reset(addresses); err != nil {
			l.log.Debug("connections not reset", "error", err)
		}
	}(l.in.Reset)
	await(done, patience)
}
