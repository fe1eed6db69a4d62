package raft

import (
	"time"

	"github.com/keepvip/keepvip/election"
)

const (
	// unfitPriority is that of a node that would rather not hold: the lowest of those that may.
	unfitPriority = 1
	topPriority   = 254
	// grace is how long a virtual address may take to get into the election before it counts as one that cannot be held here.
	grace = 3 * time.Second
)

// addressFitness is how fit this node is for one virtual address.
type addressFitness struct {
	since   time.Time
	elector *Elector // nil while it is in no election
	seen    bool
}

// Expect says which virtual addresses this node is to hold when it leads. One that cannot get into its election makes the
// node unable to lead, because all of them move together.
func (n *Node) Expect(names []string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	keep := map[string]bool{}
	for _, name := range names {
		keep[name] = true
		if n.addresses[name] == nil {
			n.addresses[name] = &addressFitness{since: time.Now()}
		}
	}
	for name := range n.addresses {
		if !keep[name] {
			delete(n.addresses, name)
		}
	}
}

// fitness is how good a holder this node would be: the worst of its virtual addresses decides.
type fitness struct {
	priority uint8 // effective; 0: it does not hold
	reason   string
	impaired bool // not at its best
}

func (n *Node) fitness() fitness {
	n.mu.Lock()
	defer n.mu.Unlock()
	switch {
	case n.cfg.witness(n.cfg.Self):
		return fitness{reason: "a witness", impaired: true}
	case len(n.addresses) == 0:
		return fitness{reason: "no virtual address", impaired: true}
	}
	worst := fitness{priority: 255}
	for name, s := range n.addresses {
		if own := s.fitness(name, time.Now()); own.priority < worst.priority {
			worst = own
		}
	}
	return worst
}

func (n *Node) priority() uint8 { return n.fitness().priority }

// fitness for one address. The caller holds the node's lock.
func (s *addressFitness) fitness(name string, now time.Time) fitness {
	if s.elector == nil {
		if !s.seen && now.Sub(s.since) < grace {
			return fitness{priority: unfitPriority, reason: name + " is starting", impaired: true}
		}
		return fitness{reason: name + " is not in its election", impaired: true}
	}
	f, base := s.elector.fit()
	out := fitness{priority: effective(base, f), reason: f.Reason, impaired: f.Out || f.Less > 0}
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

// join notes that an elector takes part in the election of its address.
func (n *Node) join(e *Elector) {
	n.mu.Lock()
	s := n.addresses[e.cfg.Name]
	if s == nil {
		s = &addressFitness{since: time.Now()}
		n.addresses[e.cfg.Name] = s
	}
	s.elector, s.seen = e, true
	n.mu.Unlock()
	n.wake()
}

func (n *Node) leave(e *Elector) {
	n.mu.Lock()
	if s := n.addresses[e.cfg.Name]; s != nil && s.elector == e {
		s.elector = nil
	}
	n.mu.Unlock()
	n.letGo()
	n.wake()
}

// wakeAll makes every elector look again.
func (n *Node) wakeAll() {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, s := range n.addresses {
		if s.elector != nil {
			s.elector.nudge()
		}
	}
}

// take notes that an elector is about to have its address bound; false when the node is letting go by now.
func (n *Node) take(e *Elector) bool {
	until := n.leaseEnd()
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.transferring || !time.Now().Before(until) {
		return false
	}
	e.holds.Store(true)
	return true
}

// letGo tells whoever waits for it that an address is off.
func (n *Node) letGo() {
	select {
	case n.freed <- struct{}{}:
	default:
	}
}

// holding tells whether any address may still be bound.
func (n *Node) holding() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, s := range n.addresses {
		if s.elector != nil && s.elector.holds.Load() {
			return true
		}
	}
	return false
}
