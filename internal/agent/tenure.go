package agent

import (
	"errors"
	"net/netip"
	"slices"
	"time"

	"github.com/keepvip/keepvip/election"
)

// errNoFence is what status shows where there is none.
var errNoFence = errors.New("no fence: the lifetime of the address alone ends the tenure of a dead process")

// tenured tells whether this node may answer at this moment. A process that was frozen wakes with an
// address that the kernel has taken away: it must not put it back, nor announce it, before the elector
// has looked at what arrived meanwhile.
func (l *loop) tenured() bool {
	return l.state() == election.Active && l.elector != nil && time.Now().Before(l.elector.Tenure())
}

// news is where an elector tells that the tenure has been extended; nil when it does not.
func news(e election.Elector) <-chan struct{} {
	if e, ok := e.(election.Extender); ok {
		return e.Extended()
	}
	return nil
}

// openFence puts up the fence for this term. Without one the node goes on: status says so.
//
// An address of an earlier run stays silent until this node is elected: nobody knows yet whether another
// node has it. It stays bound, so that its connections live if it is elected.
func (l *loop) openFence() {
	l.fence = nil
	reason := errNoFence
	if l.in.Fence != nil {
		bound := l.adopting && len(l.host.Bound(l.in.Addresses)) > 0
		f, err := l.in.Fence(l.place, bound)
		if err == nil {
			l.fence = newFencer(l.clock, f, l.log, l.elector.Tenure, news(l.elector), l.in.Lease, bound)
			if l.fence.renewal == tooFast {
				err = errTooFast
			}
		} else {
			reason = errors.Join(errNoFence, err)
		}
		if err != nil {
			l.log.Warn("no fence", "reason", err.Error())
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.view.fence, l.view.unfenced = l.fence, reason.Error()
}

// adjustFence gives the fence the new addresses and lease: at once, but for a lease that is longer.
func (l *loop) adjustFence(old Instance) {
	switch {
	case slices.Equal(old.Addresses, l.in.Addresses) && old.Lease == l.in.Lease:
		return
	case l.in.Lease > old.Lease:
		l.refence = time.Now().Add(old.Paced)
	default:
		l.exchangeFence()
	}
}

// exchangeFence puts up the fence anew. Its guard follows with the next renewal, when an advertisement
// has begun the new lease.
func (l *loop) exchangeFence() {
	l.refence = time.Time{}
	if l.passing {
		l.endServing()
		l.setPassing(false)
		l.uncorrected(l.letGo())
	}
	l.closeFence()
	l.openFence()
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
	if !l.tenured() {
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
	l.unsteer()
	l.countCut()
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
