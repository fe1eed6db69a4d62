package address

import (
	"errors"
	"log/slog"
	"math/rand/v2"
	"time"

	"github.com/keepvip/keepvip/internal/base/code"
	"github.com/keepvip/keepvip/internal/base/nudge"
	"github.com/keepvip/keepvip/internal/serve/instance"
)

// fenceWorker does what is asked of a fence, and renews its lease. It is one goroutine, to which its fields belong.
type fenceWorker struct {
	*fenceState
	fence          Fence
	log            *slog.Logger
	leaseEnd       func() time.Time // until when this node may answer; safe from any goroutine
	news           <-chan struct{}  // the lease has just been extended; nil: look for oneself
	first          func() time.Time // see leasing
	pace           pace
	lapse          lapse
	spreadUntil    time.Time // as the fence has it
	asked          time.Time // when the kernel was asked for the lease
	warned         time.Time // when it was written last that somebody has taken the fence away
	tick, renewals *time.Timer
	jobs           *jobQueue
	looks          <-chan chan instance.FenceStatus // look at the fence now, and tell
	gone           nudge.Signal                     // others have taken the fence away
	lost           nudge.Signal                     // the fence is missing
	ended          chan struct{}
}

// run works until jobs is closed, then gives the fence back.
func (w *fenceWorker) run() {
	defer close(w.ended)
	defer w.tick.Stop()
	defer w.renewals.Stop()
	for {
		w.arm()
		select {
		case <-w.jobs.some:
			if j, ok := w.jobs.take(); ok {
				w.work(j)
			}
			if !w.jobs.goOn() {
				w.debug(w.fence.Close())
				return
			}
		case <-w.tick.C:
			w.catchUp()
			w.keepSpread()
			w.mend(w.verify(checkEvery / 2))
			w.keepStandby()
			w.tick.Reset(w.untilLook(time.Now())) // by what was seen just now
		case seen := <-w.looks:
			w.catchUp()
			err := w.verify(lookAge)
			seen <- w.seen() // what is broken, before it is mended
			w.mend(err)
		case <-w.gone:
			w.lose()
			w.catchUp()
			w.remade(w.verify(0))
		case <-w.renewals.C:
			w.renew()
		case <-w.news:
			w.renew()
		}
	}
}

const (
	// crowd is how many instances that share a fence look at it in turns, and each of them only now and then. Of fewer there is not always
	// one that does.
	crowd = 24
	// rarely is how many times checkEvery one of a crowd leaves between two looks at most.
	rarely = 6
)

// untilLook is how long it is until the fence is looked at: checkEvery, and longer where others look at it meanwhile, and mend it for all, or where its end is
// told. All do so at the same moments of the clock, so that the process wakes up once for them.
func (w *fenceWorker) untilLook(now time.Time) time.Duration {
	next := instance.NextMultiple(now, checkEvery)
	many, told := w.fence.Sharing() >= crowd, w.fence.Told()
	if !many && !told || !w.lapse.since.IsZero() || w.missing.Load() {
		return next.Sub(now)
	}
	turn := instance.NextMultiple(now, lapseLook)
	if many {
		turn = next.Add(rand.N(time.Duration(rarely)) * checkEvery)
	}
	if due, ok := w.standbyDue(); ok && due.Before(turn) {
		turn = later(next, instance.NextMultiple(due, checkEvery))
	}
	return turn.Sub(now)
}

// catchUp does what was asked for before a look: what is only on its way is not missing.
func (w *fenceWorker) catchUp() {
	for range w.jobs.waiting() {
		if j, ok := w.jobs.take(); ok {
			w.work(j)
		}
	}
}

func (w *fenceWorker) work(j fenceJob) {
	defer close(j.done)
	err := j.do(w.fence)
	if j.tell {
		w.note(err)
	} else {
		w.debug(err)
	}
	if !j.keep && !errors.Is(err, errNoLease) {
		w.held.Store(j.held)
	}
}

// debug is for what no operator has to act on: the address goes, or its lifetime ends.
func (w *fenceWorker) debug(err error) {
	if err != nil {
		w.log.Debug("the fence did not follow", "error", err)
	}
}

// entitled is until when the address may be here, be it with discovery shut; safe from any goroutine.
func (w *fenceWorker) entitled() time.Time {
	end := w.leaseEnd()
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.first != nil && w.allowed.Before(end) {
		end = w.allowed
	}
	return later(end, w.drainEnd)
}

// verify looks at the fence, but not at one that is to silence the address because the lease is over: that one must not be built anew.
func (w *fenceWorker) verify(within time.Duration) error {
	held := w.held.Load()
	if w.mode() == tooFast || held && !time.Now().Before(w.entitled()) {
		w.watch(false)
		return nil
	}
	err := w.fence.Verify(within, held)
	w.note(err)
	w.watch(err == nil)
	return err
}

// mend builds a broken fence anew.
func (w *fenceWorker) mend(err error) {
	if err == nil {
		return
	}
	w.lose()
	w.log.Warn("the fence is broken; building it anew", "code", string(code.FenceLost), "error", err)
	if err := w.fence.Mend(); err != nil {
		w.note(err)
		return
	}
	w.repaired()
}

// lose is for a fence that is not there.
func (w *fenceWorker) lose() {
	w.missing.Store(true)
	w.lost.Send()
}

// repaired is for a fence that was made anew.
func (w *fenceWorker) repaired() {
	w.missing.Store(false)
	if w.held.Load() {
		// The kernel may have taken its time, and counts from then on.
		w.debug(w.fence.Renew(w.entitled()))
		w.setUnguarded(nil)
	}
	w.note(nil)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.state.Repairs++
	w.state.Repaired = time.Now()
}

// warnEvery is how often a fence that somebody takes away again and again is written of.
const warnEvery = time.Minute

// remade is for a fence that was gone, and that was made anew for all who share it unless err says what is missing.
func (w *fenceWorker) remade(err error) {
	if err != nil {
		w.mend(err)
		return
	}
	if now := time.Now(); now.Sub(w.warned) >= warnEvery {
		w.warned = now
		w.log.Warn("somebody has taken the fence away; it was built anew", "code", string(code.FenceLost))
	}
	w.repaired()
}
