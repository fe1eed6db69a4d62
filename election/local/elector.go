package local

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/keepvip/keepvip/election"
	"github.com/keepvip/keepvip/internal/base/code"
	"github.com/keepvip/keepvip/internal/base/nudge"
)

// Talk is an elector that holds nothing, by which members know each other.
type Talk interface {
	election.Elector
	election.Spreader
}

// Elector serves while this node is fit.
type Elector struct {
	source   netip.Addr // own address, for the status
	priority uint8      // the configured one, for the status: nobody compares it
	talk     Talk       // nil: nobody is heard
	stay     bool       // an unhealthy node that was fit before serves while no fit member is heard
	nudged   nudge.Signal

	leased atomic.Bool // it serves, or is about to

	ever bool // this node was fit; belongs to Run

	mu      sync.Mutex // guards what follows
	fitness election.Fitness
	status  election.Status
	changed chan struct{} // closed when the state changes, and made anew
}

var _ election.Elector = (*Elector)(nil)

// New makes an elector that has not begun. source and priority are for the status. talk tells the other members how this
// node is, and hears how they are; nil: nobody is heard. stay is for an unhealthy node that was fit before: it serves
// while no fit member is heard. Without stay it does not serve.
func New(source netip.Addr, priority uint8, talk Talk, stay bool) *Elector {
	return &Elector{
		source: source, priority: priority, talk: talk, stay: stay, nudged: nudge.New(), changed: make(chan struct{}),
		fitness: election.Fitness{Out: true, Reason: "not started"},
		status:  election.Status{Reason: "not started", Priority: priority},
	}
}

// out is a Less that leaves nothing of any priority: a node that would come last among others does not serve beside them.
const out = 255

// retryAfter is how long a node stays out that could not serve although it was fit.
const retryAfter = time.Second

// listenEvery is how often an unhealthy node looks whether a fit member is heard.
const listenEvery = 100 * time.Millisecond

// SetFitness implements election.Elector.
func (e *Elector) SetFitness(f election.Fitness) {
	e.mu.Lock()
	e.fitness = f
	e.mu.Unlock()
	if e.talk != nil {
		e.talk.SetFitness(f)
	}
	e.nudged.Send()
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
	self, others := e.heard()
	s.Members = []election.Member{{Address: e.source, Node: self.Node, Self: true, Priority: e.priority, State: s.State, Spread: self.Spread}}
	for _, m := range others {
		if m.SaysFit() && m.State != election.Silent {
			m.State = election.Active // each fit node serves
		}
		s.Members = append(s.Members, m)
	}
	return s
}

// heard are this node as the others hear it, and the other members that talk. Talk holds nothing, so it says of a node with good checks that it is
// no candidate, and of another one what is wrong.
func (e *Elector) heard() (self election.Member, others []election.Member) {
	if e.talk == nil {
		return self, nil
	}
	for _, m := range e.talk.Members() {
		switch {
		case m.Self:
			self = m
			continue
		case !m.Speaks():
			continue
		}
		if m.Code == code.NoCandidate {
			m.Fit, m.Unfit, m.Code = new(true), "", ""
		}
		m.NoCandidate = false // here each fit node serves
		others = append(others, m)
	}
	return self, others
}

// Run implements election.Elector.
func (e *Elector) Run(ctx context.Context, apply func(election.Decision) error) error {
	if e.talk != nil {
		var talk sync.WaitGroup
		defer talk.Wait()
		talk.Go(func() { _ = e.talk.Run(ctx, func(election.Decision) error { return nil }) }) // holds nothing
	}
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
		switch again, err := e.follow(apply); {
		case err != nil:
			retry.Reset(retryAfter)
		case again > 0:
			retry.Reset(again)
		}
	}
}

// follow makes this node what its fitness says, and that of the others. again is when to look once more; 0: when something changes.
func (e *Elector) follow(apply func(election.Decision) error) (again time.Duration, err error) {
	e.mu.Lock()
	f, was, because := e.fitness, e.status.State, e.status.Reason
	e.mu.Unlock()
	e.ever = e.ever || fit(f)
	reason, c := "this node is fit, and each fit node serves", code.ServesFit
	if !fit(f) {
		if e.stay && e.ever && unwell(f) {
			again = listenEvery
		}
		if _, others := e.heard(); again == 0 || slices.ContainsFunc(others, fits) {
			if was != election.Backup || because != f.Reason {
				return again, e.become(election.Standby, f.Reason, f.Code, apply)
			}
			return again, nil
		}
		reason, c = fmt.Sprintf("%s, and no member is heard that is fit", f.Reason), code.StaysUnhealthy
	}
	if was == election.Active && because == reason {
		return again, nil
	}
	if err = e.become(election.Serve, reason, c, apply); err != nil {
		_ = e.become(election.Standby, fmt.Sprintf("it cannot serve: %v", err), code.Of(err), apply)
	}
	return again, err
}

func fit(f election.Fitness) bool { return !f.Out && !f.Wait && f.Less < out }

// unwell tells whether it is the checks that keep a node from being fit: an operator's word counts more than theirs, and so does what blocks it.
func unwell(f election.Fitness) bool {
	return !f.Out && !f.Wait && !slices.Contains([]code.Code{code.Drained, code.Held, code.External}, f.Code)
}

// fits tells whether another member serves.
func fits(m election.Member) bool { return m.SaysFit() && m.State != election.Silent && !m.Witness }

// become has a role carried out. With an error of Serve the state is the one before.
func (e *Elector) become(role election.Role, reason string, c code.Code, apply func(election.Decision) error) error {
	d := election.Decision{Role: role, Reason: reason, Code: c, At: time.Now()}
	if role == election.Serve {
		d.Holder = e.source
	}
	e.leased.Store(role == election.Serve) // before the instance looks for it
	if err := apply(d); err != nil {
		e.leased.Store(false)
		return err
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if state := role.State(); state != e.status.State {
		e.status.State = state
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
