package agent

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/keepvip/keepvip/election"
)

const (
	// retryAfter is how long a loop waits before it tries again what went wrong, if no event comes first.
	retryAfter = time.Second
	// beatEvery makes an idle loop show that it lives.
	beatEvery = 5 * time.Second
)

// loop keeps one instance. Its fields belong to the goroutine of run, but for those marked otherwise.
type loop struct {
	name string // of the instance; never changes
	in   Instance
	host Host
	log  *slog.Logger

	lines election.Lines // of what others can bring about

	decisions chan decided
	changed   chan struct{}      // capacity 1: the host has changed
	adjusts   chan Instance      // a new configuration that needs no new election
	asks      chan chan error    // announce now, please
	desires   chan desiredChange // an operator wants something else of this node
	stopped   chan struct{}      // closed when run has returned

	shared     bool      // the addresses were bound here, or another holder was heard, since the start
	detector   *detector // nil between terms
	adopting   bool      // addresses of an earlier run may stay: nobody is known to have them
	elector    election.Elector
	place      Place
	checks     checkRunner
	reannounce reannouncing
	desired    desiredState // what an operator wants of this node
	alone      bool         // in a state other than Active, and nobody is known that has the addresses
	role       election.Role
	passing    bool       // the addresses are being passed on: they are here, but nobody is told so
	draining   draining   // of connections, after the addresses have been passed on
	forwarding forwarding // of older connections, to the node that was the holder before
	renewal    time.Time  // when the addresses' lifetime is due for renewal; zero while none is held
	fence      *fencer    // nil: none
	refence    time.Time  // when the fence gets its longer lease; zero: it has none to get
	due        *time.Timer
	beats      *time.Timer

	away         time.Time // the link is gone: until when a holder waits for it; zero while it is there
	announceFrom time.Time // not before: the link was gone, and another node may be Active

	fenced     Instance      // the configuration that the fence has
	fenceRetry time.Time     // when what the fence has refused is tried again; zero: nothing is
	fenceWait  time.Duration // until then, the next time

	beat atomic.Int64 // any goroutine: when the loop was last alive, in Unix nanoseconds

	mu   sync.Mutex // guards view
	view view
}

// view is what status reads.
type view struct {
	in            Instance
	elector       election.Elector
	place         Place
	state         election.State
	since         time.Time
	reason        string
	announcements uint64
	announceErrs  uint64
	restored      uint64
	conflicts     []Conflict
	fence         *fencer
	unfenced      string // why there is no fence
	terms         uint64
	desired       desiredState
	removed       bool // the instance has ended
	passing       bool // as loop.passing
	draining      bool // as loop.draining
	resets        int  // connections that were reset when draining ended
}

// decided carries a Decision from the elector's goroutine, and the answer back.
type decided struct {
	election.Decision
	done chan error
}

func newLoop(in Instance, host Host, log *slog.Logger) *loop {
	l := &loop{
		name: in.Name, in: in, host: host, log: log.With("vip", in.Name), adopting: true,
		decisions: make(chan decided), changed: make(chan struct{}, 1),
		checks: newCheckRunner(), adjusts: make(chan Instance),
		asks: make(chan chan error), desires: make(chan desiredChange), stopped: make(chan struct{}),
	}
	l.view = view{in: in, since: time.Now(), reason: "starting"}
	l.beat.Store(time.Now().UnixNano())
	return l
}

// run keeps the instance until ctx ends, then leaves none of its addresses behind.
func (l *loop) run(ctx context.Context) {
	defer close(l.stopped)
	l.due, l.beats = stopped(), time.NewTimer(untilMultiple(beatEvery))
	defer l.due.Stop()
	defer l.beats.Stop()
	l.checks.begin(ctx, l.in.Checks)
	defer l.checks.stop()
	for ctx.Err() == nil {
		if err := l.term(ctx); err != nil && ctx.Err() == nil {
			l.wait(ctx, err)
		}
	}
	l.settle(holdNone)
	l.note(election.Initialize, "stopped")
	l.mu.Lock()
	defer l.mu.Unlock()
	l.view.removed = true
}

// wait shows why there is no election, and returns when it is worth another try.
func (l *loop) wait(ctx context.Context, why error) {
	l.settle(holdNone)
	if l.note(election.Initialize, why.Error()) {
		l.log.Warn("not in the election", "reason", why.Error())
	}
	retry := time.NewTimer(retryAfter)
	defer retry.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-l.changed:
			return
		case <-retry.C:
			return
		case in := <-l.adjusts:
			l.adjust(in)
		case r := <-l.checks.results:
			l.judge(r)
		case ask := <-l.asks:
			ask <- errNotHeld
		case c := <-l.desires:
			l.applyDesired(c)
		case <-l.beats.C:
			l.alive()
		}
	}
}

// term takes part in one election at one place, until ctx ends or the place is not what it was.
func (l *loop) term(ctx context.Context) error {
	place, err := l.host.Place(l.in.Where)
	if err != nil {
		return err
	}
	elector, giveBack, err := l.in.Elect(place)
	if err != nil {
		return err
	}
	defer giveBack()
	l.enter(place, elector)
	defer l.leave()
	l.openFence()
	defer l.closeFence()
	defer l.awaitForwarding()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	l.startDetector()
	defer l.stopDetector()
	ended := make(chan error, 1)
	go func() { ended <- elector.Run(ctx, l.decide) }()
	for {
		l.arm()
		select {
		case err := <-ended:
			return err
		case d := <-l.decisions:
			d.done <- l.follow(d.Decision)
		case <-l.changed:
			if why := l.moved(time.Now()); why != nil {
				cancel(why)
				continue
			}
			l.correct()
		case <-l.due.C:
			l.announceDue(time.Now())
			l.renew(time.Now())
			l.drainDue(time.Now())
			l.forwardDue(time.Now())
			l.detectDue(time.Now())
			l.fenceDue(time.Now())
			if why := l.awayDue(time.Now()); why != nil {
				l.away = time.Time{}
				cancel(why)
			}
		case c := <-l.detector.claims:
			l.claimHeard(c)
		case r := <-l.checks.results:
			l.judge(r)
		case in := <-l.adjusts:
			l.adjust(in)
		case ask := <-l.asks:
			ask <- l.announceNow()
		case c := <-l.desires:
			l.applyDesired(c)
		case <-l.beats.C:
			l.alive()
			l.correct() // what failed before is tried again
		}
	}
}

func (l *loop) enter(p Place, e election.Elector) {
	l.place, l.elector, l.role = p, e, election.Off
	l.away, l.announceFrom = time.Time{}, time.Time{}
	l.fit()
	in := l.in
	e.SetProbe(in.Fresh)
	l.tellDraining()
	l.mu.Lock()
	defer l.mu.Unlock()
	l.view.place, l.view.elector = p, e
	l.view.terms++
}

func (l *loop) leave() {
	l.elector = nil
	l.mu.Lock()
	defer l.mu.Unlock()
	l.view.elector = nil
}

// settleIn follows an interface that has another name or MAC, or that was without carrier for a moment.
func (l *loop) settleIn(now time.Time, p Place) {
	old := l.place
	l.place = p
	l.mu.Lock()
	l.view.place = p
	l.mu.Unlock()
	if p.Name != old.Name {
		l.log.Info("the interface was renamed", "from", old.Name, "to", p.Name)
		if l.fence != nil {
			l.fence.look()
		}
	}
	if p.MAC == old.MAC && p.Stay == old.Stay {
		return
	}
	// Neighbours have the old MAC, and a switch may have forgotten the port.
	l.log.Info("the link has changed", "interface", p.Name, "mac", p.MAC)
	if p.Stay != old.Stay {
		l.listenFirst(now)
	}
	if l.holdsLease() {
		l.restartAnnouncing()
	}
}

// decide runs in the elector's goroutine.
func (l *loop) decide(d election.Decision) error {
	r := decided{Decision: d, done: make(chan error, 1)}
	l.decisions <- r
	return <-r.done
}

// note keeps the state and the reason that status shows, and tells whether they are new.
func (l *loop) note(s election.State, reason string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	fresh := l.view.state != s || l.view.reason != reason
	if l.view.state != s {
		l.view.since = time.Now()
	}
	l.view.state, l.view.reason = s, reason
	return fresh
}

// alive follows each beat, and asks for the next.
func (l *loop) alive() {
	now := time.Now()
	l.beats.Reset(untilMultiple(beatEvery))
	l.beat.Store(now.UnixNano())
}
