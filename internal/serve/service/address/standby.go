package address

import (
	"errors"
	"time"
)

const (
	// standbyReserve is how long before its end the guard of a node on standby is renewed: the kernel may take as long.
	standbyReserve = 3 * checkEvery
	// standbyMeet is on which multiples of the clock instances renew their guards together, where there is time enough until then.
	standbyMeet = 10 * checkEvery
	// holdGood is for how long after a Hold its guard outlasts an address that is bound then.
	holdGood = 2 * time.Second
)

// errSlow is what status shows until the guard is in place.
var errSlow = errors.New("the kernel has not put up the guard in time, as others are changing its rule sets")

// standBy puts up the guard of a node that does not have the addresses, and keeps it up. It does not wait.
func (f *fencer) standBy() { f.ask(fenceJob{do: f.worker.beginStandby, keep: true, tell: true}, 0) }

// beginStandby does nothing for a node that holds the addresses, or where no guard is to be.
func (w *fenceWorker) beginStandby(fence Fence) error {
	if w.held.Load() || w.mode() == tooFast {
		return nil
	}
	began := time.Now()
	good, err := fence.Standby()
	w.mu.Lock()
	defer w.mu.Unlock()
	w.standing, w.unarmed, w.armed, w.good = err != nil || good > 0, err, began, time.Time{}
	if err == nil && good > 0 {
		w.good = began.Add(good)
	}
	return err
}

// keepStandby goes on with it when it is time to.
func (w *fenceWorker) keepStandby() {
	if due, ok := w.standbyDue(); !ok || time.Now().Before(due) {
		return
	}
	if err := w.beginStandby(w.fence); err != nil {
		w.note(err)
	}
}

// standbyDue is when the guard of a node on standby is to be renewed; false where there is none.
func (s *fenceState) standbyDue() (time.Time, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	due := s.good.Add(-standbyReserve)
	// A clock that is set back must not put it off: due keeps its reading of the other clock.
	if together := due.Add(-time.Duration(due.UnixNano() % int64(standbyMeet))); together.After(s.armed.Add(standbyMeet)) {
		due = together
	}
	return due, s.standing && !s.held.Load()
}

// keepShut leaves the guard of a holder in place, with what is shut of it, until release: it outlasts the addresses.
func (f *fencer) keepShut() {
	f.ask(fenceJob{do: func(fence Fence) error {
		f.standNoMore()
		return errors.Join(fence.ShutIn(), fence.ShutOut())
	}}, 0)
}

// shutLeft begins to guard what an earlier run has left, with nothing coming in, until release. It waits a little.
func (f *fencer) shutLeft() *shut {
	f.left = f.shutPart(shutTime, func(fence Fence) error {
		f.standNoMore()
		return fence.ShutIn()
	})
	return f.left
}

// shutsLeft tells that the kernel has not come to that yet.
func (f *fencer) shutsLeft() bool { return f.left != nil && !isClosed(f.left.over) }

// standNoMore keeps the guard of a node on standby from being renewed, which would open what is shut.
func (f *fencer) standNoMore() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.standing, f.good = false, time.Time{}
}

// take starts the guard, and returns when the address may be bound; false when limit has passed before. With a guard in place, and a lease
// that the first advertisement has begun, it need not wait.
func (f *fencer) take(limit time.Duration) bool {
	switch mode := f.mode(); {
	case mode == tooFast:
		f.hold()
		return true // status says that there is none
	case mode == byKernel && f.guardedNow():
		f.hold()
		return true
	}
	ended := make(chan struct{})
	f.ask(fenceJob{held: true, tell: true, do: func(fence Fence) error {
		defer close(ended)
		return f.worker.begin(fence)
	}}, limit)
	if !isClosed(ended) {
		f.note(errSlow)
		return false
	}
	return true
}
