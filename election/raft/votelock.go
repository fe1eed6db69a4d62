package raft

import (
	"time"

	"github.com/hashicorp/raft"
)

// voteLock is what this node owes a leader that it has followed: for one heartbeat timeout after it has acknowledged a call it
// neither votes for another nor stands itself. The leader's lease rests on it. It is pure.
//
// The library keeps most of this lock by itself, but not across a restart, and not when leadership is being transferred:
// a request to stand that was delayed would unseat a later leader at once.
type voteLock struct {
	hold time.Duration // the heartbeat timeout

	until  time.Time
	term   uint64        // the newest one in which a leader was followed
	leader raft.ServerID // its leader
	free   release
}

// release is a leader's word that it will not answer for the address any more in its term, in favour of another node.
type release struct {
	term uint64
	to   raft.ServerID
}

// begin is for a node that starts: its vote may have been locked before.
func (p *voteLock) begin(now time.Time, hold time.Duration) {
	p.until = now.Add(max(hold, p.hold))
}

// follow notes that the leader of a term is being acknowledged.
func (p *voteLock) follow(now time.Time, term uint64, leader raft.ServerID) {
	if term < p.term {
		return
	}
	p.term, p.leader = term, leader
	p.until = now.Add(p.hold)
}

// letGo takes the leader's word. It counts for this one term.
func (p *voteLock) letGo(r release) bool {
	if r.term < p.term {
		return false
	}
	p.free = r
	return true
}

// allows tells whether a vote for a candidate in a term keeps to the lock.
func (p *voteLock) allows(now time.Time, term uint64, candidate raft.ServerID) bool {
	return !now.Before(p.until) || candidate == p.leader || p.freed(term, candidate)
}

// freed tells whether the leader of the term before has let go in favour of the candidate, and nobody was followed since.
func (p *voteLock) freed(term uint64, candidate raft.ServerID) bool {
	return p.free.to != "" && p.free.to == candidate && term == p.free.term+1 && p.term <= p.free.term
}

// mayStand tells whether this node may stand in a term. One that is reluctant waits longer for others to do so.
func (p *voteLock) mayStand(now time.Time, term uint64, self raft.ServerID, reluctance time.Duration) bool {
	return !now.Before(p.until.Add(reluctance)) || p.freed(term, self)
}

// mayStandAtOnce tells whether a request to stand at once is one that the leader followed has announced.
func (p *voteLock) mayStandAtOnce(self raft.ServerID) bool {
	return p.free.to == self && p.term <= p.free.term
}
