package raft

import (
	"time"

	"github.com/hashicorp/raft"
)

// leaseEnd is until when this node may answer for the addresses if nothing else happens; zero when it may not.
func (n *Node) leaseEnd() time.Time {
	r := n.raft.Load()
	if r == nil || r.State() != raft.Leader {
		return time.Time{}
	}
	term := r.CurrentTerm()
	n.mu.Lock()
	given := n.given == term
	n.mu.Unlock()
	if given || n.cfg.witness(n.cfg.Self) {
		return time.Time{}
	}
	since := n.transport.since(term, n.voters())
	if since.IsZero() {
		return time.Time{}
	}
	return since.Add(LeaseLength(n.cfg.Heartbeat))
}

// acked is told of every call that has succeeded: electors that wait for a lease may have one now, others a longer one, whose
// end they need not look at before.
func (n *Node) acked() {
	until := n.leaseEnd()
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, s := range n.addresses {
		switch {
		case s.elector == nil:
		case s.elector.waits.Load():
			s.elector.nudge()
		case s.elector.holds.Load():
			if !until.IsZero() {
				s.elector.timer.Set(until)
			}
			select {
			case s.elector.longer <- struct{}{}:
			default:
			}
		}
	}
}

// beatAgain has the library begin the next heartbeats as soon as these are answered, and not a random time later: they wait in
// the transport until they are due, and the leader wakes up once for all of them. To ask whether it still leads does that; what
// the answer is, it acts on itself. There is one question at a time: a library that waits for its disk takes none, and many of
// them would hold up the heartbeats.
func (n *Node) beatAgain() {
	r := n.raft.Load()
	if r == nil || n.leaving.Load() || !n.asked.CompareAndSwap(false, true) {
		return
	}
	answer := r.VerifyLeader()
	go func() {
		_ = answer.Error() // who leads no more has no heartbeats either
		n.asked.Store(false)
	}()
}

// reluctance is how much longer this node waits than it would have to before it stands for election: one that is unfit, or a
// witness, leaves it to others, as long as there are any.
func (n *Node) reluctance() time.Duration {
	if n.cfg.witness(n.cfg.Self) || n.priority() <= unfitPriority {
		return 3 * n.cfg.Heartbeat
	}
	return 0
}
