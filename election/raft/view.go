package raft

import (
	"net/netip"
	"time"

	"github.com/hashicorp/raft"
)

// hearing is what a member has last said of itself.
type hearing struct {
	message
	at    time.Time
	lists bool // it has this node in its configuration, by the answer that it gave last
}

// freshFor is for how many paces what a member has said counts.
const freshFor = 4

func (h hearing) fresh(now time.Time, pace time.Duration) bool {
	return !h.at.IsZero() && now.Sub(h.at) < freshFor*pace
}

// view is what this node knows of the members at a moment: who they are, and what they have said last. It is pure.
type view struct {
	cfg     Config
	self    raft.ServerID
	servers []raft.Server
	heard   map[netip.Addr]hearing
	opened  time.Time // since when this node could hear
	taken   time.Time // when a node was last known to begin to hold the address
	now     time.Time
}

func (v view) fresh(h hearing) bool { return h.fresh(v.now, v.cfg.pace()) }

// lives is what another member has said lately, under the identity by which the cluster has it.
func (v view) lives(s raft.Server) (hearing, bool) {
	h := v.heard[addressOf(s.Address)]
	return h, s.ID != v.self && h.ID == string(s.ID) && v.fresh(h)
}

// without counts the voters that would be left, and those of them that live.
func (v view) without(gone raft.ServerID) (left, live int) {
	for _, s := range v.servers {
		if s.ID == gone || s.Suffrage != raft.Voter {
			continue
		}
		left++
		if _, lives := v.lives(s); lives || s.ID == v.self {
			live++
		}
	}
	return left, live
}

// nameOf is the name of the node at an address; empty for one that has not said it.
func (v view) nameOf(a netip.Addr) string {
	if a == v.cfg.Self {
		return nameOf(v.cfg.Node)
	}
	return v.heard[a].Node
}

// leader is who says that it leads; the zero Addr for nobody.
func (v view) leader() netip.Addr {
	for a, h := range v.heard {
		if h.State == raft.Leader.String() && v.fresh(h) {
			return a
		}
	}
	return netip.Addr{}
}

// present is what has been heard lately.
func (v view) present() map[netip.Addr]message {
	out := map[netip.Addr]message{}
	for a, h := range v.heard {
		if v.fresh(h) {
			out[a] = h.message
		}
	}
	return out
}

// caughtUp is a member without a vote that has every entry up to commit.
func (v view) caughtUp(commit uint64) (raft.Server, bool) {
	for _, s := range v.servers {
		if h, lives := v.lives(s); s.Suffrage == raft.Nonvoter && lives && h.Last >= commit {
			return s, true
		}
	}
	return raft.Server{}, false
}

// dead is a voter that has been silent for too long, if the operator wants it removed and a majority of what is left lives, with
// one to spare; and for how long it has been silent.
func (v view) dead() (raft.Server, time.Duration, bool) {
	if v.cfg.RemoveDead <= 0 {
		return raft.Server{}, 0, false
	}
	for _, s := range v.servers {
		silent := v.now.Sub(v.opened)
		if h := v.heard[addressOf(s.Address)]; !h.at.IsZero() {
			silent = v.now.Sub(h.at)
		}
		if s.ID == v.self || silent < v.cfg.RemoveDead {
			continue
		}
		if left, live := v.without(s.ID); live > left/2 && left >= 2 {
			return s, silent, true
		}
	}
	return raft.Server{}, 0, false
}

// candidate is a voter that leadership could be passed to.
type candidate struct {
	id       raft.ServerID
	address  netip.Addr
	priority uint8
}

// candidates are the other voters that live and may hold, with more than the given priority.
func (v view) candidates(above uint8) []candidate {
	var out []candidate
	for _, s := range v.servers {
		a := addressOf(s.Address)
		h, lives := v.lives(s)
		if s.Suffrage != raft.Voter || !lives || !h.Seeded || h.Witness || v.cfg.witness(a) || h.Heartbeat != v.cfg.Heartbeat || h.Priority <= above {
			continue
		}
		out = append(out, candidate{id: s.ID, address: a, priority: h.Priority})
	}
	return out
}

// best is the fittest of the candidates; of equals the lowest address. It is pure.
func best(list []candidate) (candidate, bool) {
	var found candidate
	for _, c := range list {
		if found.id == "" || c.priority > found.priority || c.priority == found.priority && c.address.Less(found.address) {
			found = c
		}
	}
	return found, found.id != ""
}
