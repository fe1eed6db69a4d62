package agent

import (
	"cmp"
	"errors"
	"log/slog"
	"sync"
	"time"
)

const (
	// patience is how long a release waits for the fence. Changing it can take seconds on a node whose rule
	// sets others are changing, and another node may be waiting for the address.
	patience = 30 * time.Millisecond
	// checkEvery is how often a fence that is held is looked at.
	checkEvery = 500 * time.Millisecond
	// lookAge is how old an outcome may be that status shows: with many instances on one link it asks for many.
	lookAge = 5 * time.Millisecond
	// statusPatience is how long status waits for a look at the fence: a broken one takes longer to see.
	statusPatience = time.Second
	// maxJobs is more than a loop ever has waiting.
	maxJobs = 16
)

// fencer does what the loop asks of a fence, in order, without making it wait.
type fencer struct {
	fence          Fence
	log            *slog.Logger
	leaseEnd       func() time.Time // until when this node may answer; safe from any goroutine
	pace           pace             // belongs to run, as the timers
	tick, renewals *time.Timer
	jobs           chan fenceJob
	looks          chan chan FenceStatus // look at the fence now, and tell
	news           <-chan struct{}       // the lease has just been extended; nil: look for oneself
	ended          chan struct{}

	mu        sync.Mutex // guards what follows
	renewal   renewal    // how the lease is renewed
	state     FenceStatus
	held      bool
	unchanged error     // why the fence is not that of the newest configuration
	unguarded error     // why there is no guard, although one was asked for
	standing  bool      // on standby, while it is not held
	unarmed   error     // why the guard of a node on standby is not in place
	good      time.Time // until then a guard is in place that outlasts an address that is bound
}

type fenceJob struct {
	do   func(Fence) error
	held bool // as it is after the job
	keep bool // held is as it was
	tell bool // its outcome says whether the fence is in place
	done chan struct{}
}

// FenceStatus says whether the kernel would silence the address without a lease.
type FenceStatus struct {
	Standing bool   `json:"standing"`
	Reason   string `json:"reason,omitempty"` // why not
	Repairs  uint64 `json:"repairs"`
	// Uncovered is what may go on answering although the fence is in place.
	Uncovered string `json:"uncovered,omitempty"`
}

// newFencer takes over f. With held its guard is in place already. An elector that tells of news need not be asked for them.
func newFencer(f Fence, log *slog.Logger, leaseEnd func() time.Time, news <-chan struct{}, lease time.Duration, held bool) *fencer {
	fr := &fencer{
		fence: f, log: log, leaseEnd: leaseEnd, news: news, renewal: renewalOf(f.Renewing(), lease), pace: pace{lease: lease, told: news != nil},
		tick: time.NewTimer(untilMultiple(checkEvery)), renewals: stopped(), jobs: make(chan fenceJob, maxJobs), looks: make(chan chan FenceStatus, maxJobs), ended: make(chan struct{}),
		state: FenceStatus{Standing: true, Uncovered: f.Uncovered()}, held: held,
	}
	if fr.renewal == tooFast {
		fr.unguarded = errTooFast
		fr.note(nil)
	}
	go fr.run()
	return fr
}

// mode is safe from any goroutine.
func (f *fencer) mode() renewal {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.renewal
}

// run works until jobs is closed, then gives the fence back.
func (f *fencer) run() {
	defer close(f.ended)
	defer f.tick.Stop()
	defer f.renewals.Stop()
	for {
		f.arm()
		select {
		case j, ok := <-f.jobs:
			if !ok {
				f.debug(f.fence.Close())
				return
			}
			f.work(j)
		case <-f.tick.C:
			f.tick.Reset(untilMultiple(checkEvery))
			f.catchUp()
			f.mend(f.check(checkEvery / 2))
			f.keepStandby()
		case seen := <-f.looks:
			f.catchUp()
			err := f.check(lookAge)
			seen <- f.seen() // what is broken, before it is mended
			f.mend(err)
		case <-f.renewals.C:
			f.renew()
		case <-f.news:
			f.renew()
		}
	}
}

// catchUp does what was asked for before a look: what is only on its way is not missing.
func (f *fencer) catchUp() {
	for range len(f.jobs) {
		if j, ok := <-f.jobs; ok {
			f.work(j)
		}
	}
}

func (f *fencer) work(j fenceJob) {
	defer close(j.done)
	err := j.do(f.fence)
	if j.tell {
		f.note(err)
	} else {
		f.debug(err)
	}
	if !j.keep && !errors.Is(err, errNoLease) {
		f.setHeld(j.held)
	}
}

// debug is for what no operator has to act on: the address goes, or its lifetime ends.
func (f *fencer) debug(err error) {
	if err != nil {
		f.log.Debug("the fence did not follow", "error", err)
	}
}

// check looks at the fence, but not at one that is to silence the address because the lease is over: that one must not be built anew.
func (f *fencer) check(within time.Duration) error {
	held := f.isHeld()
	if f.mode() == tooFast || held && !time.Now().Before(f.leaseEnd()) {
		return nil
	}
	err := f.fence.Check(within, held)
	f.note(err)
	return err
}

// mend builds a broken fence anew.
func (f *fencer) mend(err error) {
	if err == nil {
		return
	}
	f.log.Warn("the fence is broken; building it anew", "error", err)
	if err := f.fence.Mend(); err != nil {
		f.note(err)
		return
	}
	if f.isHeld() {
		// A whole lease from now on may be longer than the newest advertisement allows.
		f.debug(f.fence.Renew(f.leaseEnd()))
		f.setUnguarded(nil)
	}
	f.note(nil)
	f.mu.Lock()
	defer f.mu.Unlock()
	f.state.Repairs++
}

// note keeps how the fence is. What was asked of it and has not come to be counts, however sound the kernel has the rest.
func (f *fencer) note(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	err = cmp.Or(err, f.unguarded, f.unarmed, f.unchanged)
	f.state.Standing, f.state.Reason, f.state.Uncovered = err == nil, "", f.fence.Uncovered()
	if err != nil {
		f.state.Reason = err.Error()
	}
}

func (f *fencer) isHeld() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.held
}

func (f *fencer) setHeld(held bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.held = held
}

// status is how the fence is at this moment, or what was seen last if the kernel does not answer soon.
func (f *fencer) status() FenceStatus {
	timer := time.NewTimer(statusPatience)
	defer timer.Stop()
	select {
	case s := <-f.look():
		return s
	case <-f.ended:
	case <-timer.C:
	}
	return f.seen()
}

func (f *fencer) seen() FenceStatus {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.state
}

// hold starts the guard, or goes on with it. It does not wait.
func (f *fencer) hold() {
	f.ask(fenceJob{do: f.begin, held: f.mode() != tooFast, tell: true}, 0)
}

// look makes the fencer look at the fence before its time, and tell how it is.
func (f *fencer) look() <-chan FenceStatus {
	seen := make(chan FenceStatus, 1)
	select {
	case f.looks <- seen:
	default:
	}
	return seen
}

func await(done <-chan struct{}, limit time.Duration) {
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case <-done:
	case <-timer.C:
	}
}

// shutIn and shutOut wait a little, release does not.
func (f *fencer) shutIn()  { f.ask(fenceJob{do: Fence.ShutIn}, patience) }
func (f *fencer) shutOut() { f.ask(fenceJob{do: Fence.ShutOut}, patience) }
func (f *fencer) release() { f.ask(fenceJob{do: f.end, tell: true}, 0) }

// ask queues a job and waits for it, but not longer than wait. A queue that is full means that the
// kernel does not answer; then only the lifetime of the address removes it.
func (f *fencer) ask(j fenceJob, wait time.Duration) {
	j.done = make(chan struct{})
	select {
	case f.jobs <- j:
	default:
		return
	}
	if wait <= 0 {
		return
	}
	await(j.done, wait)
}

// close waits until the fence is given back.
func (f *fencer) close() {
	close(f.jobs)
	<-f.ended
}
