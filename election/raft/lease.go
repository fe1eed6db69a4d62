package raft

import (
	"slices"
	"sync"
	"time"

	"github.com/hashicorp/raft"
)

// jiffy is the coarsest step in which a kernel counts timeouts (CONFIG_HZ=100).
const jiffy = 10 * time.Millisecond

// LeaseLength is how long a leader may answer for the address after the start of a call that a quorum has acknowledged: the
// heartbeat timeout, within which none of them votes for another, less a tenth for clocks that run at different rates, and
// a jiffy for the kernel.
func LeaseLength(heartbeat time.Duration) time.Duration { return heartbeat - heartbeat/10 - jiffy }

// acks are the newest starts of calls that each peer has acknowledged in one term. It is pure.
//
// The start counts, not the arrival of the answer: an answer may have waited in a buffer while this process was frozen, but
// the vote lock of the peer began no earlier than the call.
type acks struct {
	term   uint64
	starts map[raft.ServerID]time.Time
}

// add notes a call of a term that began at start and succeeded.
func (a *acks) add(term uint64, peer raft.ServerID, start time.Time) {
	if term < a.term {
		return
	}
	if term > a.term || a.starts == nil {
		a.term, a.starts = term, map[raft.ServerID]time.Time{}
	}
	if start.After(a.starts[peer]) {
		a.starts[peer] = start
	}
}

// quorum is the newest time since when a majority of the voters is known to follow self in a term: zero when there is none.
// Self follows itself at any time.
func (a *acks) quorum(term uint64, self raft.ServerID, voters []raft.ServerID, now time.Time) time.Time {
	if !slices.Contains(voters, self) {
		return time.Time{}
	}
	times := []time.Time{now}
	for _, v := range voters {
		if at, ok := a.starts[v]; ok && v != self && a.term == term {
			times = append(times, at)
		}
	}
	need := len(voters)/2 + 1
	if len(times) < need {
		return time.Time{}
	}
	slices.SortFunc(times, func(x, y time.Time) int { return y.Compare(x) })
	return times[need-1]
}

// lease is until when this node may answer for the addresses. Safe for concurrent use.
type lease struct {
	*plumbing
	cluster *cluster

	mu    sync.Mutex // guards given
	given uint64     // the term in which this node lets go of the addresses
}

// end is until when this node may answer if nothing else happens; zero when it may not.
func (l *lease) end() time.Time {
	l.mu.Lock()
	given := l.given
	l.mu.Unlock()
	return l.until(given)
}

func (l *lease) until(given uint64) time.Time {
	r := l.cluster.leading()
	if r == nil || l.cfg.witness(l.cfg.Self) {
		return time.Time{}
	}
	term := r.CurrentTerm()
	since := l.cluster.transport.since(term, l.cluster.voters())
	if term == given || since.IsZero() {
		return time.Time{}
	}
	return since.Add(LeaseLength(l.cfg.Heartbeat))
}

// due is when a holder looks at its lease again: at the end, as each answer that makes it longer is told. A leader without other voters gets no answers,
// so it looks four times in a lease.
func (l *lease) due(now time.Time) time.Time {
	end := l.end()
	if !end.IsZero() && l.cluster.alone() {
		return now.Add(LeaseLength(l.cfg.Heartbeat) / 4)
	}
	return end
}

// take notes that an elector is about to have its address bound; false without a lease. After give nobody takes.
func (l *lease) take(e *Elector) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !time.Now().Before(l.until(l.given)) {
		return false
	}
	e.holds.Store(true)
	return true
}

// give ends the lease of a term for good, or with 0 takes that back.
func (l *lease) give(term uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.given = term
}
