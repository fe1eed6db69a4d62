package address

import (
	"log/slog"
	"math/rand/v2"
	"sync/atomic"
	"time"

	"github.com/keepvip/keepvip/internal/base/nudge"
	"github.com/keepvip/keepvip/internal/serve/instance"
)

const (
	// patience is how long a release waits for the fence. Changing it can take seconds on a node whose rule
	// sets others are changing, and another node may be waiting for the address.
	patience = 30 * time.Millisecond
	// resetTime is how much longer a release waits for the resets of connections: a node without a free processor, or with some ten thousand
	// connections, takes that long.
	resetTime = 100 * time.Millisecond
	// checkEvery is how often a fence that is held is looked at.
	checkEvery = 500 * time.Millisecond
	// lookAge is how old an outcome may be that status shows: with many instances on one link it asks for many.
	lookAge = 5 * time.Millisecond
	// statusPatience is how long status waits for a look at the fence: a broken one takes longer to see.
	statusPatience = time.Second
)

// fencer has a worker do what the service asks of a fence, in order, without making the service wait.
type fencer struct {
	*fenceState
	worker *fenceWorker
	jobs   *jobQueue
	looks  chan<- chan instance.FenceStatus
	pass   *passJob // the newest; nil: there was none
	left   *shut    // the newest of shutLeft; nil: there was none
}

// leasing is where a fencer learns of the lease.
type leasing struct {
	length time.Duration
	end    func() time.Time // until when this node may answer; safe from any goroutine
	news   <-chan struct{}  // the lease has just been extended; nil: look for oneself
	first  func() time.Time // until when the kernel lets the addresses of the first interface answer, zero where it does not say; nil: these are they
}

// newFencer takes over f. With held its guard is in place already. An elector that tells of news need not be asked for them.
func newFencer(f Fence, log *slog.Logger, lease leasing, held bool) *fencer {
	jobs, looks := newJobQueue(), make(chan chan instance.FenceStatus, maxJobs)
	s := &fenceState{
		uncovered: f.Uncovered, renewal: renewalOf(f.Renewing(), lease.length),
		state: instance.FenceStatus{Standing: true, Uncovered: f.Uncovered()},
	}
	s.held.Store(held)
	if s.renewal == tooFast {
		s.unguarded = errTooFast
		s.note(nil)
	}
	w := &fenceWorker{
		fenceState: s, fence: f, log: log, leaseEnd: lease.end, first: lease.first, news: lease.news, pace: pace{lease: lease.length, told: lease.news != nil},
		asked:    time.Now().Add(-rand.N(lapseEvery(f.Sharing(), lapseNear))), // hundreds of instances begin at the same time
		renewals: time.NewTimer(time.Hour), jobs: jobs, looks: looks, gone: nudge.New(), lost: nudge.New(), ended: make(chan struct{}),
	}
	w.tick = time.NewTimer(w.untilLook(time.Now()))
	f.Follow(w.entitled, func() {
		w.gone.Send()
	})
	go w.run()
	return &fencer{fenceState: s, worker: w, jobs: jobs, looks: looks}
}

// status is how the fence is at this moment, or what was seen last if the kernel does not answer soon.
func (f *fencer) status() instance.FenceStatus {
	timer := time.NewTimer(statusPatience)
	defer timer.Stop()
	select {
	case s := <-f.look():
		return s
	case <-f.worker.ended:
	case <-timer.C:
	}
	return f.seen()
}

// hold starts the guard, or goes on with it. It does not wait.
func (f *fencer) hold() { f.ask(f.holding(), 0) }

// holdOn goes on with it, now and then. It does not wait.
func (f *fencer) holdOn() {
	j := f.holding()
	j.repeated = true
	f.ask(j, 0)
}

func (f *fencer) holding() fenceJob {
	return fenceJob{do: f.worker.begin, held: f.mode() != tooFast, tell: true}
}

// look makes the fencer look at the fence before its time, and tell how it is.
func (f *fencer) look() <-chan instance.FenceStatus {
	seen := make(chan instance.FenceStatus, 1)
	select {
	case f.looks <- seen:
	default:
	}
	return seen
}

// kernelEnd is until when the kernel lets the addresses answer, zero where this process says so. Without a lease the fence is looked at: one that
// is not in place silences nobody, and is mended.
func (f *fencer) kernelEnd() time.Time {
	if f.mode() != byKernel {
		return time.Time{}
	}
	left, err := f.worker.fence.LeaseLeft()
	if err != nil {
		return time.Time{}
	}
	if left == 0 {
		f.look()
	}
	return time.Now().Add(left)
}

func await(done <-chan struct{}, limit time.Duration) {
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case <-done:
	case <-timer.C:
	}
}

// isClosed tells that what c stands for is over.
func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// shutIn and shutOut wait a little, release does not: only that ends the hold, and lets the node stand by. What they return tells later
// what has become of it.
func (f *fencer) shutIn() *shut  { return f.shutPart(patience, Fence.ShutIn) }
func (f *fencer) shutOut() *shut { return f.shutPart(patience, Fence.ShutOut) }

func (f *fencer) shutPart(wait time.Duration, part func(Fence) error) *shut {
	s := &shut{over: make(chan struct{})}
	f.ask(fenceJob{keep: true, do: func(fence Fence) error {
		defer close(s.over)
		err := part(fence)
		s.done.Store(err == nil)
		return err
	}}, wait)
	return s
}

// shut is what was asked for of the kernel. Of nil, which is no fence's, nothing is done.
type shut struct {
	done atomic.Bool
	over chan struct{} // closed when the kernel has answered
}

// isDone is false of no fence.
func (s *shut) isDone() bool { return s != nil && s.done.Load() }

func (f *fencer) release() { f.ask(fenceJob{do: f.worker.end, tell: true}, 0) }

// ask queues a job and waits for it, but not longer than wait. While the kernel does not answer, only the lifetime of the address removes it.
func (f *fencer) ask(j fenceJob, wait time.Duration) {
	j.done = make(chan struct{})
	if f.jobs.put(j) && wait > 0 {
		await(j.done, wait)
	}
}

// close waits until the fence is given back.
func (f *fencer) close() {
	f.jobs.close()
	<-f.worker.ended
}
