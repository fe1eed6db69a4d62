package raft

import (
	"net/netip"
	"slices"
	"sync/atomic"

	"github.com/hashicorp/raft"
)

// cluster is the library, and what it knows of the cluster: nothing before this node takes part. Safe for concurrent use.
type cluster struct {
	*plumbing
	id        raft.ServerID // set before library, see self
	transport *transport    // set before library
	library   atomic.Pointer[raft.Raft]

	asked   atomic.Bool // the library was asked whether this node leads, and has not said
	leaving atomic.Bool // for good: a library that has shut down would not answer
}

func (c *cluster) started() bool { return c.library.Load() != nil }

// self is the identity under which this node takes part; empty before.
func (c *cluster) self() raft.ServerID {
	if !c.started() {
		return ""
	}
	return c.id
}

// leading is the library while this node leads; otherwise nil.
func (c *cluster) leading() *raft.Raft {
	if r := c.library.Load(); r != nil && r.State() == raft.Leader {
		return r
	}
	return nil
}

// leaderCh receives when this node begins or ceases to lead.
func (c *cluster) leaderCh() <-chan bool {
	if r := c.library.Load(); r != nil {
		return r.LeaderCh()
	}
	return nil
}

// leader is the one that the library knows; the zero Addr for none.
func (c *cluster) leader() netip.Addr {
	r := c.library.Load()
	if r == nil {
		return netip.Addr{}
	}
	address, _ := r.LeaderWithID()
	return addressOf(address)
}

// servers is the newest configuration of the cluster that this node knows.
func (c *cluster) servers() []raft.Server {
	r := c.library.Load()
	if r == nil {
		return nil
	}
	f := r.GetConfiguration()
	if f.Error() != nil {
		return nil
	}
	return f.Configuration().Servers
}

func (c *cluster) voters() []raft.ServerID {
	var out []raft.ServerID
	for _, s := range c.servers() {
		if s.Suffrage == raft.Voter {
			out = append(out, s.ID)
		}
	}
	return out
}

// alone tells whether there are no voters but this node.
func (c *cluster) alone() bool {
	v := c.voters()
	return len(v) == 1 && v[0] == c.self()
}

// voice tells whether this node's vote counts: only once the cluster has it as a voter under the identity of its store.
func (c *cluster) voice() bool { return slices.Contains(c.voters(), c.self()) }

func (c *cluster) knows(id raft.ServerID) bool {
	return slices.ContainsFunc(c.servers(), func(s raft.Server) bool { return s.ID == id })
}

// has tells whether a member is one at that address: the leader calls it there and nowhere else.
func (c *cluster) has(id raft.ServerID, at netip.Addr) bool {
	return slices.ContainsFunc(c.servers(), func(s raft.Server) bool { return s.ID == id && addressOf(s.Address) == at })
}

// beatAgain has the library begin the next heartbeats as soon as these are answered, and not a random time later: they wait in
// the transport until they are due, and the leader wakes up once for all of them. To ask whether it still leads does that; what
// the answer is, it acts on itself. There is one question at a time: a library that waits for its disk takes none, and many of
// them would hold up the heartbeats.
func (c *cluster) beatAgain() {
	r := c.library.Load()
	if r == nil || c.leaving.Load() || !c.asked.CompareAndSwap(false, true) {
		return
	}
	answer := r.VerifyLeader()
	go func() {
		_ = answer.Error() // who leads no more has no heartbeats either
		c.asked.Store(false)
	}()
}
