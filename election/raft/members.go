package raft

import (
	"maps"
	"net/netip"
	"slices"
	"time"

	"github.com/hashicorp/raft"

	"github.com/keepvip/keepvip/election"
)

// Member is one node of the cluster as this node sees it.
type Member struct {
	Address   netip.Addr `json:"address"`
	Node      string     `json:"node,omitempty"` // its name, also while it is silent
	ID        string     `json:"id"`
	Self      bool       `json:"self,omitempty"`
	Voter     bool       `json:"voter"`
	Witness   bool       `json:"witness,omitempty"`
	Leader    bool       `json:"leader,omitempty"`
	Waiting   bool       `json:"waiting,omitempty"` // not a member yet
	Priority  uint8      `json:"priority"`
	LastHeard time.Time  `json:"lastHeard,omitzero"`
	Note      string     `json:"note,omitempty"`
	silent    bool
	ignored   bool     // its calls are not taken
	said      *message // the newest that it has said of itself
}

// Members lists the members of the cluster, then those that are heard but are none.
func (n *Node) Members() []Member {
	v := n.gossip.view()
	f := n.addresses.fitness()
	own := Member{
		Address: n.cfg.Self, Self: true, Leader: n.cluster.leader() == n.cfg.Self, Witness: n.cfg.witness(n.cfg.Self),
		Node: nameOf(n.cfg.Node), Priority: f.priority, Note: f.reason,
		said: &message{Holds: n.addresses.holding(), Software: nameOf(n.cfg.Software), Reason: f.reason, Code: f.code},
	}
	leader := n.cluster.leader()
	var out []Member
	for _, s := range v.servers {
		out = append(out, v.member(s, own, leader))
	}
	shown := func(a netip.Addr) bool {
		return slices.ContainsFunc(out, func(m Member) bool { return m.Address == a })
	}
	for _, a := range sorted(slices.Collect(maps.Keys(v.heard))) {
		if !shown(a) {
			m := v.other(a, leader)
			m.ID, m.Waiting = v.heard[a].ID, true
			out = append(out, m)
		}
	}
	if !shown(n.cfg.Self) {
		own.Waiting = true
		out = append(out, own)
	}
	return out
}

// member is one that the cluster has.
func (v view) member(s raft.Server, own Member, leader netip.Addr) Member {
	a, void := addressOf(s.Address), s.ID != v.self
	m := own
	if a != own.Address {
		m = v.other(a, leader)
		void = m.Note == "" && v.heard[a].ID != "" && v.heard[a].ID != string(s.ID)
	}
	m.ID, m.Voter = string(s.ID), s.Suffrage == raft.Voter
	switch {
	case void:
		m.Note = "joins with an empty store"
	case !m.Voter && m.Note == "":
		m.Note = "catching up: no vote yet"
	}
	return m
}

// other is what is known of the address of another node.
func (v view) other(a, leader netip.Addr) Member {
	h := v.heard[a]
	m := Member{
		Address: a, Node: h.Node, Leader: a == leader, Priority: h.Priority, Witness: v.cfg.witness(a) || h.Witness, said: &h.message,
	}
	if h.at.IsZero() {
		m.Note, m.silent = "not heard since this node started", true
		return m
	}
	m.LastHeard = h.at
	switch {
	case !v.fresh(h), v.replaced(a, leader, h):
		m.Note, m.silent = "silent", true
	case h.Heartbeat != v.cfg.Heartbeat:
		m.ignored = true
		m.Note = "has raft.heartbeatTimeout " + h.Heartbeat.String() + ", want " + v.cfg.Heartbeat.String() + " as here: it is not followed until then"
	default:
		m.Note = h.Reason
	}
	return m
}

// answersWithin is how long a node takes at most to say that it does not hold the address any more, when another begins to.
const answersWithin = 100 * time.Millisecond

// replaced tells that a holder has said nothing since another node began to hold the address: it does not hold it any more, and
// does not live, as everybody is asked at that moment.
func (v view) replaced(a, leader netip.Addr, h hearing) bool {
	return h.Holds && a != leader && h.at.Before(v.taken) && v.now.Sub(v.taken) > answersWithin
}

// shown is the member as status has it. One that is silent is what it was.
func (m Member) shown() election.Member {
	out := election.Member{Address: m.Address, Self: m.Self, Priority: m.Priority, State: election.Backup, LastHeard: m.LastHeard, Note: m.Note, Witness: m.Witness}
	silent := m.silent && !m.LastHeard.IsZero()
	switch {
	case silent && m.said.Holds, m.Leader && m.said.Holds:
		out.State = election.Active
	case m.silent && !silent, m.Waiting:
		out.State = election.Initialize
	}
	if silent {
		out.Silence()
		out.Note = ""
	}
	if m.Self || !m.LastHeard.IsZero() {
		out.Node, out.Version, out.Unfit, out.Code = m.Node, m.said.Software, m.said.Reason, m.said.Code
		out.Fit = new(m.Voter && !m.ignored && m.Priority > unfitPriority)
	}
	if !out.SaysFit() && out.Note != "" {
		out.Unfit, out.Note = out.Note, "" // said once
	}
	return out
}
