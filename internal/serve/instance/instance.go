package instance

import (
	"context"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/keepvip/keepvip/election"
	"github.com/keepvip/keepvip/internal/base/code"
	"github.com/keepvip/keepvip/internal/base/nudge"
	"github.com/keepvip/keepvip/internal/check/health"
)

const (
	// retryAfter is how long an instance waits before it tries again what went wrong, if no event comes first.
	retryAfter = time.Second
	// beatEvery makes an idle instance show that it lives.
	beatEvery = 5 * time.Second
)

// instance joins one election to one service. Its fields belong to the goroutine of run, but for those marked otherwise.
type instance struct {
	name   string // never changes
	log    *slog.Logger
	cancel context.CancelCauseFunc // the Set's: ends run; nil until it has begun

	changed nudge.Signal        // the host has changed
	adjusts chan *adjustment    // a new configuration that needs no new election
	desires chan *desiredChange // an operator wants something else of this node
	stopped chan struct{}       // closed when run has returned

	checks checkRunner
	beats  *time.Timer
	away   absence
	begun  time.Time
	beat   atomic.Int64 // any goroutine: when it was last alive, in nanoseconds since begun: no step of the clock counts

	faults  faults
	refused refusal
	outside outside
	lines   election.Lines // the elector's goroutine: what others can bring about

	shared shared
}

func newInstance(cfg Config, log *slog.Logger) *instance {
	i := &instance{
		name: cfg.VIP.Name, log: log.With("vip", cfg.VIP.Name), checks: newCheckRunner(), begun: time.Now(),
		changed: nudge.New(), adjusts: make(chan *adjustment), desires: make(chan *desiredChange), stopped: make(chan struct{}),
		shared: shared{view: view{cfg: &cfg, since: time.Now(), reason: "starting", code: code.Started}},
	}
	i.checks.alone, i.faults.shared, i.outside = i.shared.alone, &i.shared, newOutside(&i.shared, i.log)
	return i
}

// run keeps the instance until ctx ends, then leaves nothing of its service behind.
func (i *instance) run(ctx context.Context) {
	defer close(i.stopped)
	i.beats, i.away.over = time.NewTimer(time.Hour), time.NewTimer(time.Hour)
	defer i.beats.Stop()
	i.alive()
	i.away.back()
	i.begin(ctx)
	defer i.checks.stop()
	for ctx.Err() == nil {
		if err := i.term(ctx); err != nil && ctx.Err() == nil {
			i.wait(ctx, err)
		}
	}
	i.end(ctx)
}

// begin makes the service, and starts the checks.
func (i *instance) begin(ctx context.Context) {
	cfg := i.shared.now().cfg
	service := cfg.serve(i.shared.block)
	i.shared.change(func(v *view) { v.service, v.ending = service, func() bool { return ctx.Err() != nil } })
	i.checks.begin(ctx, cfg.Checks)
}

// end leaves nothing of the service behind.
func (i *instance) end(ctx context.Context) {
	if err := i.shared.served().Close(); err != nil {
		i.log.Warn("the service has left something behind", "error", err)
	}
	ended, reason := election.Ended(context.Cause(ctx))
	if ended == code.Stopping {
		reason = "stopped"
	}
	i.shared.change(func(v *view) { v.note(election.Initialize, reason, ended); v.removed = true })
}

// wait shows why there is no election, and returns when it is worth another try.
func (i *instance) wait(ctx context.Context, why error) {
	if err := i.shared.served().Apply(context.Background(), election.Decision{Role: election.Off, Reason: why.Error(), Code: code.Of(why), At: time.Now()}); err != nil {
		i.log.Warn("the service has left something behind", "error", err)
	}
	fresh := false
	i.shared.change(func(v *view) { fresh, v.apart = v.note(election.Initialize, why.Error(), code.Of(why)), true })
	if fresh {
		i.log.Warn("not in the election", "reason", why.Error())
	}
	i.faults.watch(time.Now())
	retry := time.NewTimer(retryAfter)
	defer retry.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-i.changed:
			return
		case <-retry.C:
			return
		case a := <-i.adjusts:
			i.adjust(a.cfg)
			close(a.done)
		case r := <-i.checks.results:
			i.judge(r)
		case c := <-i.desires:
			i.applyDesired(c)
		case <-i.beats.C:
			i.alive()
		}
	}
}

// enter finds the place, and begins a term there: that of a new elector, and of the service.
func (i *instance) enter() (elector election.Elector, giveBack func(), err error) {
	cfg := i.shared.now().cfg
	place, err := cfg.Place()
	if err != nil {
		return nil, nil, err
	}
	if elector, giveBack, err = cfg.elect(place); err != nil {
		return nil, nil, err
	}
	i.shared.tell(func(v *view) { v.begin(place, elector) })
	if cfg.apart() {
		s := elector.Status()
		i.shared.change(func(v *view) { v.note(election.Initialize, s.Reason, s.Code) })
		i.log.Info("the addresses are external", "reason", s.Reason)
	}
	i.lack()
	elector.SetProbe(cfg.fresh)
	i.shared.served().Begin(Term{Place: place, Elector: elector, Ready: i.shared.ready, Healthy: i.shared.healthy})
	return elector, giveBack, nil
}

// term takes part in one election at one place, until ctx ends or the place is not what it was. Hundreds of instances wait here for as long
// as the process lives: run and term keep no copy of a configuration on their stack, of which the runtime gives back what is hardly used.
func (i *instance) term(ctx context.Context) error {
	elector, giveBack, err := i.enter()
	if err != nil {
		return err
	}
	defer giveBack()
	defer i.shared.change(func(v *view) { v.elector = nil })
	service := i.shared.served()
	defer service.End()
	defer i.away.back()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	ended := make(chan error, 1)
	go func() { ended <- elector.Run(ctx, i.apply) }()
	for {
		select {
		case err := <-ended:
			return err
		case <-i.changed:
			if why := i.stay(time.Now()); why != nil {
				cancel(why)
			}
			i.lack()
		case <-i.away.over.C:
			cancel(i.away.cut)
		case a := <-i.adjusts:
			i.adjust(a.cfg)
			close(a.done)
		case r := <-i.checks.results:
			i.judge(r)
		case c := <-i.desires:
			i.applyDesired(c)
		case <-i.beats.C:
			i.beatHere(ctx, service)
		case l := <-i.outside.results:
			i.outside.take(l)
		case <-i.outside.again.C:
			i.outside.look(ctx, time.Now())
		}
	}
}

// beatHere does what is done with each beat of a term.
func (i *instance) beatHere(ctx context.Context, service Service) {
	i.alive()
	i.cover(ctx)
	i.route()
	i.faults.watch(time.Now())
	if i.away.until.IsZero() {
		service.HostChanged(i.shared.placed()) // what failed before is tried again
	}
	i.lack()
	i.outside.look(ctx, time.Now())
}

// alive follows each beat, and asks for the next.
func (i *instance) alive() {
	now := time.Now()
	i.beats.Reset(time.Until(NextMultiple(now, beatEvery)))
	i.beat.Store(int64(now.Sub(i.begun)))
}

// silent is how long ago the instance was last alive.
func (i *instance) silent(now time.Time) time.Duration {
	return now.Sub(i.begun) - time.Duration(i.beat.Load())
}

// judge passes a check's verdict on as part of the fitness.
func (i *instance) judge(r *result) {
	before, news := i.checks.take(r)
	if !news {
		return
	}
	if r.State != health.Unknown && (before.State != r.State || before.Points != r.Points) {
		r.log(i.log)
	}
	verdicts := i.checks.newest()
	i.shared.tell(func(v *view) { v.verdicts = verdicts })
}

// adjust takes over a configuration that needs no new election. What has not changed is not touched. The service comes first: an
// advertisement of a new interval makes the others wait no longer than it says.
func (i *instance) adjust(next *Config) {
	next.Checks = i.checks.change(next.Checks)
	v := i.shared.now()
	if next.Interim == "" && next.mode() == v.cfg.mode() {
		next.Interim = v.cfg.Interim
	}
	next.Leaving.drain(v.cfg.Leaving, v.service)
	if s, ok := v.service.(Reconfigurer); ok {
		s.Reconfigure(next)
	}
	if v.elector != nil {
		v.elector.SetProbe(next.fresh)
		if e, ok := v.elector.(Adjuster); ok {
			e.Adjust(next, v.place)
		}
	}
	verdicts := i.checks.newest()
	i.shared.tell(func(v *view) {
		if v.cfg.mode() != next.mode() {
			v.known = v.state == election.Active || v.holder.IsValid()
		}
		v.cfg, v.verdicts = next, verdicts
	})
}
