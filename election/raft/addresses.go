package raft

import (
	"sync"
	"time"

	"github.com/keepvip/keepvip/election"
	"github.com/keepvip/keepvip/internal/base/code"
	"github.com/keepvip/keepvip/internal/base/nudge"
)

const (
	// unfitPriority is that of a node that would rather not hold: the lowest of those that may.
	unfitPriority = 1
	topPriority   = 254
	// grace is how long a virtual address may take to get into the election before it counts as one that cannot be held here.
	grace = 3 * time.Second
)

// addresses are the virtual addresses that this node holds when it leads, with their electors. Safe for concurrent use.
type addresses struct {
	*plumbing
	freed nudge.Signal // an elector has let go

	mu     sync.Mutex // guards byName
	byName map[string]*addressFitness
}

// addressFitness is how fit this node is for one virtual address.
type addressFitness struct {
	since   time.Time
	elector *Elector // nil while it is in no election
	seen    bool
}

// expect makes the addresses those of the names.
func (a *addresses) expect(names []string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	old := a.byName
	a.byName = map[string]*addressFitness{}
	for _, name := range names {
		a.byName[name] = old[name]
		if old[name] == nil {
			a.byName[name] = &addressFitness{since: time.Now()}
		}
	}
}

// fitness is how good a holder this node would be: the worst of its virtual addresses decides.
type fitness struct {
	priority uint8 // effective; 0: it does not hold
	reason   string
	code     code.Code // of reason
	impaired bool      // not at its best
}

func (a *addresses) fitness() fitness {
	a.mu.Lock()
	defer a.mu.Unlock()
	switch {
	case a.cfg.witness(a.cfg.Self):
		return fitness{reason: "a witness", code: code.Witness, impaired: true}
	case len(a.byName) == 0:
		return fitness{reason: "no virtual address", impaired: true}
	}
	worst := fitness{priority: 255}
	for name, s := range a.byName {
		if own := s.fitness(name, time.Now()); own.priority < worst.priority {
			worst = own
		}
	}
	return worst
}

// fitness for one address.
func (s *addressFitness) fitness(name string, now time.Time) fitness {
	if s.elector == nil {
		if !s.seen && now.Sub(s.since) < grace {
			return fitness{priority: unfitPriority, reason: name + " is starting", code: code.Started, impaired: true}
		}
		return fitness{reason: name + " is not in its election", code: code.NotInElection, impaired: true}
	}
	f, base := s.elector.fit()
	out := fitness{priority: effective(base, f), reason: f.Reason, code: f.Code, impaired: f.Out || f.Less > 0}
	if out.reason != "" && name != "" {
		out.reason = name + ": " + out.reason
	}
	return out
}

// effective is the priority that a fitness leaves of base.
func effective(base uint8, f election.Fitness) uint8 {
	switch {
	case f.Out:
		return 0
	case f.Less <= 0:
		return base
	}
	return uint8(min(max(int(base)-f.Less, unfitPriority), topPriority))
}

// reluctance is how much longer this node waits than it would have to before it stands for election: one that is unfit, or a
// witness, leaves it to others, as long as there are any.
func (a *addresses) reluctance() time.Duration {
	if a.fitness().priority <= unfitPriority {
		return 3 * a.cfg.Heartbeat
	}
	return 0
}

// join notes that an elector takes part in the election of its address.
func (a *addresses) join(e *Elector) {
	a.mu.Lock()
	defer a.mu.Unlock()
	s := a.byName[e.name]
	if s == nil {
		s = &addressFitness{since: time.Now()}
		a.byName[e.name] = s
	}
	s.elector, s.seen = e, true
	a.look.Send()
}

func (a *addresses) leave(e *Elector) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if s := a.byName[e.name]; s != nil && s.elector == e {
		s.elector = nil
	}
	a.freed.Send()
	a.look.Send()
}

// electors are those that take part.
func (a *addresses) electors() []*Elector {
	a.mu.Lock()
	defer a.mu.Unlock()
	var out []*Elector
	for _, s := range a.byName {
		if s.elector != nil {
			out = append(out, s.elector)
		}
	}
	return out
}

// wakeAll makes every elector look again.
func (a *addresses) wakeAll() {
	for _, e := range a.electors() {
		e.nudged.Send()
	}
}

// renewed tells of a call that has succeeded: electors that wait for a lease may have one now, others a longer one, at which
// they need not look before due.
func (a *addresses) renewed(due time.Time) {
	for _, e := range a.electors() {
		switch {
		case e.waits.Load():
			e.nudged.Send()
		case e.holds.Load():
			if !due.IsZero() {
				e.timer.Reset(time.Until(due))
			}
			e.longer.Send()
		}
	}
}

// holding tells whether any address may still be bound.
func (a *addresses) holding() bool {
	for _, e := range a.electors() {
		if e.holds.Load() {
			return true
		}
	}
	return false
}
