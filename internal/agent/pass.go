package agent

import (
	"sync/atomic"
	"time"

	"github.com/keepvip/keepvip/election"
)

// usableTime is how long a node that was granted the addresses waits until they work before it announces them. The
// former holder serves them meanwhile.
const usableTime = 100 * time.Millisecond

// passOn begins to pass the addresses on: nobody is told any more that they are here, but who knows it already is served
// until the next node has announced them. Where the kernel cannot keep the two apart, or not in time, the addresses go
// at once: another node may answer as soon as this returns.
func (l *loop) passOn(c election.Change) error {
	l.insist.stop()
	l.in.Schedule.Stop()
	var err error
	if l.fence != nil && l.fence.shutDiscovery() {
		l.passing = true
		l.renewal = time.Time{}
	} else {
		err = l.letGo()
	}
	l.note(c.To, c.Reason)
	l.logChange(c)
	return err
}

// passed ends it.
func (l *loop) passed(c election.Change) error {
	if !l.passing {
		return nil
	}
	l.passing = false
	err := l.letGo()
	l.log.Info("address passed on", "to", c.Holder.String(), "reason", c.Reason)
	return err
}

// takenBack answers again before anything is announced.
func (l *loop) takenBack() {
	if l.passing && l.fence != nil {
		l.fence.reopen()
	}
	l.passing = false
}

// shutDiscovery tells whether the kernel has done so in time. Where nothing keeps the lease alive, to shut a part would
// shut everything.
func (f *fencer) shutDiscovery() bool {
	if f.renewal == tooFast {
		return false
	}
	var done atomic.Bool
	f.ask(fenceJob{do: func(fence Fence) error {
		err := fence.ShutDiscovery()
		done.Store(err == nil)
		return err
	}}, patience)
	return done.Load()
}

// reopen waits a little: what is announced before the kernel has followed is lost.
func (f *fencer) reopen() { f.ask(fenceJob{do: Fence.Reopen, held: true, tell: true}, patience) }
