package local

import (
	"context"
	"fmt"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"github.com/keepvip/keepvip/election"
	"github.com/keepvip/keepvip/internal/base/code"
)

// Config is what an Elector is made of.
type Config struct {
	Source   netip.Addr // own address, for the status
	Priority uint8      // the configured one, for the status: nobody compares it
}

// Elector serves while this node is fit.
type Elector struct {
	cfg    Config
	nudged chan struct{} // capacity 1

	leased atomic.Bool // it serves, or is about to

	mu      sync.Mutex // guards what follows
	fitness election.Fitness
	status  election.Status
	changed chan struct{} // closed when the state changes, and made anew
}

var _ election.Elector = (*Elector)(nil)

// New makes an elector that has not begun.
func New(cfg Config) *Elector {
	return &Elector{
		cfg: cfg, nudged: make(chan struct{}, 1), changed: make(chan struct{}),
		fitness: election.Fitness{Out: true, Reason: "not started"},
		status:  election.Status{Reason: "not started", Priority: cfg.Priority},
	}
}

// out is a Less that leaves nothing of any priority: a node that would come last among others does not serve beside them.
const out = 255

// retryAfter is how long a node stays out that could not serve although it was fit.
const retryAfter = time.Second

// SetFitness implements election.Elector.
func (e *Elector) SetFitness(f election.Fitness) {
	e.mu.Lock()
	e.fitness = f
	e.mu.Unlock()
	select {
	case e.nudged <- struct{}{}:
	default:
	}
}

// SetProbe implements election.Elector. The newest verdict is what a node goes by that asks nobody.
func (e *Elector) SetProbe(func(context.Context) election.Fitness) {}

// LeaseEnd implements election.Elector: no other node waits for the end of anything, so it is far away while this node serves.
func (e *Elector) LeaseEnd() time.Time {
	if !e.leased.Load() {
		return time.Time{}
	}
	return time.Now().Add(time.Hour)
}

// Status implements election.Elector.
func (e *Elector) Status() election.Status {
	e.mu.Lock()
	defer e.mu.Unlock()
	s := e.status
	s.Fitness = e.fitness
	s.Members = []election.Member{{Address: e.cfg.Source, Self: true, Priority: e.cfg.Priority, State: s.State, Fit: fit(e.fitness)}}
	return s
}

// Run implements election.Elector.
func (e *Elector) Run(ctx context.Context, apply func(election.Decision) error) error {
	retry := time.NewTimer(time.Hour)
	defer retry.Stop()
	for {
		select {
		case <-ctx.Done():
			c, reason := election.Ended(context.Cause(ctx))
			return e.become(election.Off, reason, c, apply)
		case <-e.nudged:
		case <-retry.C:
		}
		if err := e.follow(apply); err != nil {
			retry.Reset(retryAfter)
		}
	}
}

// follow makes this node what its fitness says.
func (e *Elector) follow(apply func(election.Decision) error) error {
	e.mu.Lock()
	f, was := e.fitness, e.status.State
	e.mu.Unlock()
	switch {
	case !fit(f) && (was != election.Backup || f.Reason != e.Status().Reason):
		return e.become(election.Standby, f.Reason, f.Code, apply)
	case !fit(f) || was == election.Active:
		return nil
	}
	err := e.become(election.Serve, "this node is fit, and each fit node serves", code.ServesFit, apply)
	if err != nil {
		_ = e.become(election.Standby, fmt.Sprintf("it cannot serve: %v", err), code.Of(err), apply)
	}
	return err
}

func fit(f election.Fitness) bool { return !f.Out && !f.Wait && f.Less < out }

// become has a role carried out. With an error of Serve the state is the one before.
func (e *Elector) become(role election.Role, reason string, c code.Code, apply func(election.Decision) error) error {
	now := time.Now()
	d := election.Decision{Role: role, Reason: reason, Code: c, At: now}
	if role == election.Serve {
		d.Holder = e.cfg.Source
	}
	e.leased.Store(role == election.Serve) // before the instance looks for it
	if err := apply(d); err != nil {
		e.leased.Store(false)
		return err
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if state := role.State(); state != e.status.State {
		e.status.State, e.status.Since = state, now
		e.status.Counters.Transitions++
		if state == election.Active {
			e.status.Counters.Takeovers++
		}
		close(e.changed)
		e.changed = make(chan struct{})
	}
	e.status.Reason, e.status.Code, e.status.Holder = reason, c, d.Holder
	return nil
}

// Handover takes this node out where it is not to serve any more, as one that is drained, and returns when it does not. Otherwise there is nobody
// to whom the address could be passed on: the error wraps [election.ErrNoTaker].
func (e *Elector) Handover(ctx context.Context, to string) error {
	for {
		e.mu.Lock()
		f, state, changed := e.fitness, e.status.State, e.changed
		e.mu.Unlock()
		switch {
		case state != election.Active:
			return election.ErrNotActive
		case to != "" || fit(f):
			return fmt.Errorf("%w: with election local each fit node serves, and keepvip drain takes this one out", election.ErrNoTaker)
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return election.ErrTimeout
		}
	}
}
