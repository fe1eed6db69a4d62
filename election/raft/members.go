package raft

import (
	"net/netip"
	"slices"
	"time"

	"github.com/hashicorp/raft"

	"github.com/keepvip/keepvip/election"
)

// Member is one node of the cluster as this node sees it.
type Member struct {
	Address   netip.Addr `json:"address"`
	ID        string     `json:"id"`
	Self      bool       `json:"self,omitempty"`
	Voter     bool       `json:"voter"`
	Witness   bool       `json:"witness,omitempty"`
	Leader    bool       `json:"leader,omitempty"`
	Waiting   bool       `json:"waiting,omitempty"` // not a member yet
	Priority  uint8      `json:"priority"`
	LastHeard *time.Time `json:"lastHeard,omitempty"`
	Note      string     `json:"note,omitempty"`
	silent    bool
	holds     bool
}

// Members lists the members of the cluster, then those that are heard but are none.
func (n *Node) Members() []Member {
	servers := n.servers()
	own, holds := n.fitness(), n.holding()
	n.mu.Lock()
	defer n.mu.Unlock()
	var out []Member
	for _, s := range servers {
		a := addressOf(s.Address)
		m := n.member(a, own)
		m.ID, m.Voter = string(s.ID), s.Suffrage == raft.Voter
		switch {
		case m.Self && s.ID != n.id, !m.Self && m.Note == "" && n.heard[a].ID != "" && n.heard[a].ID != string(s.ID):
			m.Note = "joins with an empty store"
		case !m.Voter && m.Note == "":
			m.Note = "catching up: no vote yet"
		}
		out = append(out, m)
	}
	for _, a := range sorted(n.others()) {
		if !slices.ContainsFunc(out, func(m Member) bool { return m.Address == a }) && !n.heard[a].at.IsZero() {
			m := n.member(a, own)
			m.ID, m.Waiting = n.heard[a].ID, true
			out = append(out, m)
		}
	}
	if !slices.ContainsFunc(out, func(m Member) bool { return m.Self }) {
		m := n.member(n.cfg.Self, own)
		m.Waiting = true
		out = append(out, m)
	}
	for i := range out {
		out[i].holds = out[i].Self && holds || n.heard[out[i].Address].Holds
	}
	return out
}

// member is what is known of an address. The caller holds the lock.
func (n *Node) member(a netip.Addr, own fitness) Member {
	m := Member{Address: a, Self: a == n.cfg.Self, Leader: a == n.leader, Witness: n.cfg.witness(a)}
	if m.Self {
		m.Priority, m.Note = own.priority, own.reason
		return m
	}
	h := n.heard[a]
	m.Priority, m.Witness = h.Priority, m.Witness || h.Witness
	if h.at.IsZero() {
		m.Note, m.silent = "not heard since this node started", true
		return m
	}
	m.LastHeard = &h.at
	switch {
	case !h.fresh(time.Now(), n.pace()), n.replaced(a, h, time.Now()):
		m.Note, m.silent = "silent", true
	case h.Heartbeat != n.cfg.Heartbeat:
		m.Note = "has raft.heartbeatTimeout " + h.Heartbeat.String() + ", want " + n.cfg.Heartbeat.String() + " as here: it is not followed until then"
	default:
		m.Note = h.Reason
	}
	return m
}

// answersWithin is how long a node takes at most to say that it does not hold the address any more, when another begins to.
const answersWithin = 100 * time.Millisecond

// replaced tells that a holder has said nothing since another node began to hold the address: it does not hold it any more, and
// does not live, as everybody is asked at that moment. The caller holds the lock.
func (n *Node) replaced(a netip.Addr, h hearing, now time.Time) bool {
	return h.Holds && a != n.leader && h.at.Before(n.taken) && now.Sub(n.taken) > answersWithin
}

// noteTaken notes that this node has begun to hold the address.
func (n *Node) noteTaken(now time.Time) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.taken = now
}

// shown is the member as status has it. One that is silent is what it was.
func (m Member) shown() election.Member {
	out := election.Member{Address: m.Address, Self: m.Self, Priority: m.Priority, State: election.Backup, Note: m.Note}
	if m.LastHeard != nil {
		out.LastHeard, out.Silent = *m.LastHeard, m.silent
	}
	switch {
	case out.Silent && m.holds, m.Leader && m.holds:
		out.State = election.Active
	case m.silent && !out.Silent, m.Waiting:
		out.State = election.Initialize
	}
	if out.Silent {
		out.Note = ""
	}
	if m.Witness {
		out.Note = joinNotes("witness", out.Note)
	}
	return out
}

func joinNotes(a, b string) string {
	if b == "" || b == "a witness" {
		return a
	}
	return a + "; " + b
}

// others are the addresses of everybody that this node talks to. The caller holds the lock.
func (n *Node) others() []netip.Addr {
	set := map[netip.Addr]bool{}
	for _, p := range n.peers {
		set[p] = true
	}
	for a := range n.heard {
		set[a] = true
	}
	for a := range n.joins {
		set[a] = true
	}
	delete(set, n.cfg.Self)
	var out []netip.Addr
	for a := range set {
		out = append(out, a)
	}
	return out
}
