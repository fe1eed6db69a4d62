package address

import (
	"errors"
	"sync/atomic"
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
func (s *server) passOn() error {
	shut, err := s.shutDiscovery()
	if err != nil {
		return err
	}
	s.announcer.stop()
	if !shut {
		s.uncorrected(s.letGo())
		return nil
	}
	s.setPassing(true)
	s.renewal, s.serving = time.Time{}, false
	return nil
}

// shutDiscovery tells whether discovery is shut. The error is errNotNow.
func (s *server) shutDiscovery() (bool, error) {
	f := s.fence.fencer
	if f == nil {
		return false, nil
	}
	done, err := f.shutDiscovery(min(s.cfg.Lease/6, shutTime))
	if !done {
		return false, errNotNow
	}
	if err != nil {
		s.log.Debug("the fence cannot shut discovery alone", "error", err)
	}
	return err == nil, nil
}

// passed ends it.
func (s *server) passed(d election.Decision) error {
	if !s.passing || s.startDraining(d) {
		return nil
	}
	draining := !s.drain.next.IsZero()
	s.drain.cancel()
	s.setPassing(false)
	err := s.letGo()
	switch {
	case draining: // whom the address was passed on to was said when that began
		s.log.Info("draining of connections ended before its time", "reason", d.Reason)
	case d.Holder.IsValid():
		s.log.Info("address passed on", "to", d.Holder.String(), "reason", d.Reason)
	default: // as of a node that stood still in the midst of a handover, or whose election ended there
		s.log.Info("address given up before another node was heard to have it", "reason", d.Reason)
	}
	return err
}

// takenBack answers again before anything is announced.
func (s *server) takenBack() {
	if s.passing {
		s.fence.do(func(f *fencer) { f.reopen(patience) })
	}
	s.drain.cancel()
	s.setPassing(false)
}

// passJob shuts discovery, unless that has been withdrawn: then nothing stays shut, whenever the kernel comes to it.
type passJob struct {
	state atomic.Int32
	err   error         // of the kernel; not before state is passShut
	over  chan struct{} // closed when the job is done
}

// The states of a passJob: from passAsked it gets to one of the others, and stays there.
const (
	passAsked     int32 = iota
	passShut            // the kernel has answered in time
	passWithdrawn       // nobody waits for it any more
)

// shutDiscovery tells whether the kernel has answered within limit, and what. If it has not, discovery is open, or is opened again. Where nothing keeps
// the lease alive, to shut a part would shut everything. Others ask again and again for the address, so an earlier job has to be over before the next one
// is queued.
func (f *fencer) shutDiscovery(limit time.Duration) (done bool, err error) {
	if f.mode() == tooFast {
		return true, errTooFast
	}
	end := time.Now().Add(limit)
	if f.pass != nil {
		await(f.pass.over, limit)
		if !isClosed(f.pass.over) {
			return false, nil
		}
	}
	p := &passJob{over: make(chan struct{})}
	f.pass = p
	f.ask(fenceJob{keep: true, do: func(fence Fence) error { return p.shut(f.worker, fence) }}, time.Until(end))
	if p.state.CompareAndSwap(passAsked, passWithdrawn) {
		return false, nil
	}
	return true, p.err
}

// shut is the job, for the worker.
func (p *passJob) shut(w *fenceWorker, fence Fence) error {
	defer close(p.over)
	if p.state.Load() == passWithdrawn {
		return nil
	}
	defer w.held.Store(true)
	p.err = fence.ShutDiscovery()
	if p.state.CompareAndSwap(passAsked, passShut) {
		return p.err
	}
	err := w.reopen(fence)
	w.note(err)
	return err
}

// reopen waits a little before something is announced: what leaves before the kernel has followed is lost.
func (f *fencer) reopen(wait time.Duration) {
	f.ask(fenceJob{do: f.worker.reopen, held: true, tell: true}, wait)
}

// reopen tries it once more with a fence that is in place: one that others have taken away is built anew as it was, shut.
func (w *fenceWorker) reopen(fence Fence) error {
	err := fence.Reopen()
	if err == nil {
		return nil
	}
	w.mend(w.verify(0))
	return fence.Reopen()
}
