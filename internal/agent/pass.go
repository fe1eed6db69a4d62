package agent

import (
	"errors"
	"time"

	"github.com/keepvip/keepvip/election"
)

// shutTime is how long the kernel may take at most to shut discovery, however long the lease is: no advertisement leaves
// meanwhile.
const shutTime = 250 * time.Millisecond

// usableTime is how long a node that was granted the addresses waits until they work before it announces them. The
// former holder answers meanwhile.
const usableTime = 100 * time.Millisecond

// errNotNow: the kernel is busy.
var errNotNow = errors.New("the fence does not follow in time")

// passOn begins to pass the addresses on: nobody is told any more that they are here, but who knows it already is served
// until the next node has announced them. Where the kernel cannot keep the two apart, or there is no fence, the addresses go at
// once: another node may answer as soon as this returns. But a kernel that is only slow, because others are changing its rule
// sets, keeps them here: the other node would hear of the grant when it is too late to take it.
func (l *loop) passOn(d election.Decision) error {
	shut, err := l.shutDiscovery()
	if err != nil {
		return err
	}
	l.reannounce.stop()
	l.in.Schedule.Stop()
	if shut {
		l.setPassing(true)
		l.renewal = time.Time{}
	} else {
		l.uncorrected(l.letGo())
	}
	l.note(d.Role.State(), d.Reason)
	l.logDecision(d)
	return nil
}

// shutDiscovery tells whether discovery is shut. The error is errNotNow.
func (l *loop) shutDiscovery() (bool, error) {
	if l.fence == nil {
		return false, nil
	}
	done, err := l.fence.shutDiscovery(min(l.in.Lease/6, shutTime))
	if !done {
		l.fence.reopen(0)
		return false, errNotNow
	}
	if err != nil {
		l.log.Debug("the fence cannot shut discovery alone", "error", err)
	}
	return err == nil, nil
}

func (l *loop) setPassing(passing bool) {
	l.passing = passing
	l.mu.Lock()
	defer l.mu.Unlock()
	l.view.passing = passing
}

// passed ends it.
func (l *loop) passed(d election.Decision) error {
	if !l.passing || l.startDraining(d) {
		return nil
	}
	l.cancelDraining()
	l.setPassing(false)
	err := l.letGo()
	l.log.Info("address passed on", "to", d.Holder.String(), "reason", d.Reason)
	return err
}

// takenBack answers again before anything is announced.
func (l *loop) takenBack() {
	if l.passing && l.fence != nil {
		l.fence.reopen(patience)
	}
	l.cancelDraining()
	l.setPassing(false)
}

// shutDiscovery tells whether the kernel has answered within limit, and what. Where nothing keeps the lease alive, to shut
// a part would shut everything.
func (f *fencer) shutDiscovery(limit time.Duration) (done bool, err error) {
	if f.mode() == tooFast {
		return true, errTooFast
	}
	answer := make(chan error, 1)
	f.ask(fenceJob{held: true, do: func(fence Fence) error {
		err := fence.ShutDiscovery()
		answer <- err
		return err
	}}, limit)
	select {
	case err := <-answer:
		return true, err
	default:
		return false, nil
	}
}

// reopen waits a little before something is announced: what leaves before the kernel has followed is lost.
func (f *fencer) reopen(wait time.Duration) {
	f.ask(fenceJob{do: Fence.Reopen, held: true, tell: true}, wait)
}
