package address

import (
	"errors"
	"time"
)

// renewal is how the lease of a fence is renewed.
type renewal uint8

const (
	byKernel      renewal = iota // with every advertisement that leaves
	byTransaction                // by the fencer, after an advertisement
	tooFast                      // not at all: by transaction it would run out between two renewals
)

const (
	// renewEvery is the shortest time between two renewals by transaction: each change of a table makes
	// everybody who is listing one begin anew.
	renewEvery = 200 * time.Millisecond
	// renewEarly is how much sooner than that a regular one may come.
	renewEarly = renewEvery / 20
	// renewReserve is what of a lease must be left for a renewal to be made in time.
	renewReserve = 60 * time.Millisecond
	// askAgain is how long a fence elsewhere waits before it asks the first interface again.
	askAgain = 20 * time.Millisecond
	// pollPerLease is how often in a lease the fencer looks at most whether an advertisement has left: about
	// twenty times an interval.
	pollPerLease = 60
)

// errTooFast is what status shows where no transaction can keep the lease alive.
var errTooFast = errors.New("no fence: no advertisement renews the lease in the kernel (an election by raft, an address elsewhere, or no nftables " +
	"egress hook, Linux 5.16), and the lease is too short to renew it by hand (less than about 280ms: raft.heartbeatTimeout below 330ms, or an " +
	"advertisement interval below 100ms): if keepvip dies, only the lifetime of the address removes it")

// errNoLease: the guard was not started, because the lease that lets the address answer could not be.
var errNoLease = errors.New("the lease of the fence could not be renewed")

func renewalOf(byItself bool, lease time.Duration) renewal {
	switch {
	case byItself:
		return byKernel
	case lease < renewEvery+renewReserve+freshPolls*lease/pollPerLease:
		return tooFast
	default:
		return byTransaction
	}
}

// pace spreads renewals by transaction. It is pure.
type pace struct {
	lease time.Duration
	last  time.Time // of the newest renewal
	until time.Time // when the lease ends that it began
	told  bool      // whoever asks is told when there is news
	next  time.Time // with told: not before
	again time.Time // not before, because the first interface had nothing new to say
	old   bool      // the newest renewal was with old news
}

// due says whether to renew at now, when the lease of the elector lasts until leaseEnd, and if not, when
// to ask again. It waits for an advertisement that has just left, because its lease is the longest, but
// not until the last one runs out.
func (p *pace) due(now, leaseEnd time.Time) (bool, time.Duration) {
	if p.told {
		return p.dueWhenTold(now, leaseEnd)
	}
	if wait := later(p.last.Add(renewEvery), p.again).Sub(now); wait > 0 {
		return false, wait
	}
	poll := p.poll()
	fresh := now.Sub(leaseEnd.Add(-p.lease)) <= freshPolls*poll
	pressing := p.until.Sub(now) <= renewReserve
	if now.Before(leaseEnd) && leaseEnd.After(p.until) && (fresh || pressing) {
		return true, 0
	}
	return false, poll
}

// dueWhenTold renews at the news, and between them only when the lease is about to end. Without any, or where those of several
// members come together, it has nothing to wait for but the next.
func (p *pace) dueWhenTold(now, leaseEnd time.Time) (bool, time.Duration) {
	switch wait := p.until.Add(-renewReserve).Sub(now); {
	case !now.Before(leaseEnd) || leaseEnd.Sub(p.until) < renewEarly:
		return false, time.Hour
	case now.Before(p.next) && wait > 0:
		return false, wait
	default:
		return true, 0
	}
}

// freshPolls is for how many looks what has just left is news.
const freshPolls = 4

// poll is the time between two looks. What a lease has beyond the least is room to look less often: the fencer
// does nothing else on an idle node. Half of it goes to freshPolls of them.
func (p *pace) poll() time.Duration {
	return max(p.lease/pollPerLease, (p.lease-renewEvery-renewReserve)/(2*freshPolls))
}

// given notes a renewal that came with something else: those that follow the news keep their times.
func (p *pace) given(now, until time.Time) { p.last, p.until = now, until }

// renewed notes a renewal. Regular news may come a little sooner than the times before, as long as there are not more of them.
// After two in a row with old news the next is taken at once: else each of them would come too soon after one that was pressing.
func (p *pace) renewed(now, until time.Time) {
	p.given(now, until)
	before := p.old
	p.old = now.Sub(until.Add(-p.lease)) > renewEvery/2
	if before && p.old {
		p.next = now
		return
	}
	p.next = p.next.Add(renewEvery)
	if least := now.Add(renewEvery - renewEarly); p.next.Before(least) {
		p.next = least
	}
}

// begin starts the guard.
func (w *fenceWorker) begin(fence Fence) error {
	began := time.Now()
	err := w.guard(fence)
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.unguarded = err; err == nil {
		w.good, w.unarmed = began.Add(holdGood), nil
	}
	return err
}

// guard comes after a lease that nobody else renews, so that the address never falls silent in between.
func (w *fenceWorker) guard(fence Fence) error {
	switch w.mode() {
	case tooFast:
		if w.held.Load() || w.standsBy() {
			return errors.Join(errTooFast, fence.Release())
		}
		return errTooFast
	case byTransaction:
		until, silent := w.askFirst()
		if silent {
			return fence.Hold() // without a lease
		}
		if err := w.extend(until, w.pace.given); err != nil {
			return errors.Join(errNoLease, err, w.openFor(fence))
		}
	}
	return fence.Hold()
}

// openFor lets a new holder answer whose lease the kernel does not follow, as long as the elector says that it has one: without a lease the
// guard of a node on standby would silence an address that this node rightly holds.
func (w *fenceWorker) openFor(fence Fence) error {
	if w.held.Load() || !w.standsBy() || !time.Now().Before(w.leaseEnd()) {
		return nil
	}
	w.mu.Lock()
	w.standing, w.good = false, time.Time{}
	w.mu.Unlock()
	return fence.Release()
}

// end takes the guard of a holder away, in exchange for that of a node on standby.
func (w *fenceWorker) end(fence Fence) error {
	w.held.Store(false)
	err := w.beginStandby(fence)
	if err != nil || !w.standsBy() || w.mode() == tooFast {
		err = fence.Release()
	}
	w.debug(err)
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.unguarded = nil; w.renewal == tooFast {
		w.unguarded = errTooFast
	}
	return nil
}

// resume starts the guard in the middle of a lease, where no advertisement has renewed the lease of this fence yet.
func (f *fencer) resume() {
	f.ask(fenceJob{held: f.mode() != tooFast, tell: true, do: func(fence Fence) error {
		if f.mode() == byKernel {
			if err := fence.Renew(f.worker.leaseEnd()); err != nil {
				f.setUnguarded(err)
				return errors.Join(errNoLease, err)
			}
		}
		return f.worker.begin(fence)
	}}, 0)
}

// exchangeTime is how long a change of configuration waits for the kernel at most.
const exchangeTime = time.Second

// exchange makes the fence another one by change, with another lease. What is guarded or shut stays so. It tells whether that was done
// in time.
func (f *fencer) exchange(lease time.Duration, change func(Fence) error) bool {
	done := make(chan error, 1)
	f.ask(fenceJob{keep: true, tell: true, repeated: true, do: func(fence Fence) error {
		err := change(fence)
		f.mu.Lock()
		defer f.mu.Unlock()
		if f.unchanged = err; err == nil {
			f.worker.adopt(lease, fence.Renewing())
		}
		done <- err
		return err
	}}, exchangeTime)
	select {
	case err := <-done:
		return err == nil
	default:
		return false
	}
}

// adopt goes on with another lease. The caller holds the lock.
func (w *fenceWorker) adopt(lease time.Duration, byItself bool) {
	w.renewal, w.pace.lease = renewalOf(byItself, lease), lease
	switch {
	case w.renewal == tooFast:
		w.unguarded = errTooFast
	case errors.Is(w.unguarded, errTooFast):
		w.unguarded = nil
	}
}

// arm sets the timer to the next renewal by transaction.
func (w *fenceWorker) arm() {
	if w.mode() != byTransaction || !w.held.Load() {
		w.renewals.Stop()
		return
	}
	now := time.Now()
	_, wait := w.pace.due(now, w.leaseEnd())
	w.renewals.Reset(wait)
}

// renew renews when it is time to.
func (w *fenceWorker) renew() {
	if due, _ := w.pace.due(time.Now(), w.leaseEnd()); !due || !w.held.Load() {
		return
	}
	until, silent := w.askFirst()
	switch {
	case silent:
		w.pace.again = time.Now().Add(askAgain)
		return
	case w.first != nil && until.Sub(w.pace.until) < renewEarly: // the kernel's end of the lease is a little before the elector's
		w.pace.again = time.Now().Add(max(askAgain, w.pace.poll()))
		return
	}
	w.note(w.extend(until, w.pace.renewed))
}

// askFirst is until when the lease may last: elsewhere no longer than the kernel lets the addresses of the first interface answer. Another
// table may drop the advertisements behind the socket, which the elector does not see. Silent tells whether the kernel silences the first interface, at the
// end of the lease that it allows, although the elector has one.
func (w *fenceWorker) askFirst() (until time.Time, silent bool) {
	end := w.leaseEnd()
	if w.first == nil {
		return end, false
	}
	if first := w.first(); !first.IsZero() && first.Before(end) {
		end = first
	}
	w.mu.Lock()
	w.allowed = end
	w.mu.Unlock()
	now := time.Now()
	return end, !now.Before(end) && now.Before(w.leaseEnd())
}

func (w *fenceWorker) extend(until time.Time, note func(now, until time.Time)) error {
	note(time.Now(), until)
	err := w.fence.Renew(until)
	w.countRenewal(err)
	return err
}
