package raft

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"time"

	"github.com/hashicorp/raft"
)

// forgetAfter is for how long a node that is no member any more is still shown, and asked unless it is on the list.
const forgetAfter = time.Minute

// maxHeard bounds how many addresses a node talks to.
const maxHeard = 64

// gossip asks everybody how they are, all at once, but nobody twice at a time. A question says as much as its answer: where
// everybody is well known, and there is no news, one of two asks the other.
func (n *Node) gossip(ctx context.Context, news bool) {
	hello, all := n.hello(), news || !n.settled()
	for _, a := range n.gossipPeers() {
		if !all && a.Less(n.cfg.Self) {
			n.gossiped(a)
			continue
		}
		n.tasks.Go(func() {
			defer n.gossiped(a)
			ctx, cancel := n.cfg.Clock.WithTimeout(ctx, 2*n.pace())
			defer cancel()
			res, err := n.plumbing.ask(ctx, a, hello)
			if err != nil {
				n.log.Debug("a raft member does not answer", "error", err)
				return
			}
			n.hear(res)
			n.noteListed(res, hello.ID)
		})
	}
}

func (n *Node) gossipPeers() []netip.Addr {
	servers := n.servers()
	n.mu.Lock()
	defer n.mu.Unlock()
	set := map[netip.Addr]bool{}
	for _, s := range servers {
		set[addressOf(s.Address)] = true
	}
	n.forget(set, time.Now())
	for _, a := range n.others() {
		set[a] = true
	}
	var out []netip.Addr
	for a := range set {
		if a.IsValid() && a != n.cfg.Self && !n.asking[a] && len(out) < maxHeard {
			n.asking[a] = true
			out = append(out, a)
		}
	}
	return out
}

// forget drops who has been silent for long, and is no member. The caller holds the lock.
func (n *Node) forget(members map[netip.Addr]bool, now time.Time) {
	for a, h := range n.heard {
		if !members[a] && now.Sub(h.at) > forgetAfter {
			delete(n.heard, a)
		}
	}
}

// settled tells whether a leader is known, this node is a voter, as is everybody that it talks to, and all of them are heard.
func (n *Node) settled() bool {
	voters := map[raft.ServerID]bool{}
	for _, id := range n.voters() {
		voters[id] = true
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	others, now := n.others(), time.Now()
	if !voters[n.id] || !n.leader.IsValid() || n.trouble != "" || !n.stranger.IsZero() || len(others)+1 != len(voters) {
		return false
	}
	for _, a := range others {
		if h := n.heard[a]; !voters[raft.ServerID(h.ID)] || !h.fresh(now, n.pace()) {
			return false
		}
	}
	return true
}

func (n *Node) gossiped(a netip.Addr) {
	n.mu.Lock()
	defer n.mu.Unlock()
	delete(n.asking, a)
}

// hello is what this node says of itself.
func (n *Node) hello() message {
	own := n.fitness()
	m := message{
		Kind: askHello, From: n.cfg.Self, List: digest(n.cfg.Peers), Priority: own.priority, Reason: clip(own.reason),
		Witness: n.cfg.witness(n.cfg.Self), Heartbeat: n.cfg.Heartbeat, Holds: n.holding(),
	}
	r := n.raft.Load()
	if r == nil {
		return m
	}
	leader, _ := r.LeaderWithID()
	m.ID, m.Seeded, m.Term, m.Last = string(n.id), n.voice(), r.CurrentTerm(), r.LastIndex()
	m.Formed, m.State, m.Leader = m.Term > 1, r.State().String(), addressOf(leader)
	return m
}

// hear takes in what a member has said of itself.
func (n *Node) hear(m message) {
	now := time.Now()
	n.mu.Lock()
	old := n.heard[m.From]
	if len(n.heard) < maxHeard || !old.at.IsZero() {
		n.heard[m.From] = hearing{message: m, at: now, lists: old.lists && old.ID == m.ID}
	}
	switch {
	case m.Kind == askHello: // a question says nothing of us
	case !m.Stranger && m.State == raft.Leader.String():
		n.stranger, n.refused = time.Time{}, ""
	case m.Stranger && m.State == raft.Leader.String() && n.stranger.IsZero():
		n.stranger = now
	}
	takes := m.Holds && !old.Holds
	if takes {
		n.taken = now
	}
	n.mu.Unlock()
	if old.at.IsZero() || old.Priority != m.Priority || old.Formed != m.Formed || old.ID != m.ID {
		n.wake()
	}
	if takes {
		n.gossipNow() // the former holder says whether it lives
	}
	if old.Holds != m.Holds {
		n.wakeAll()
	}
}

// noteListed notes whether whoever has answered a hello knows the one that asked.
func (n *Node) noteListed(res message, asker string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if h, ok := n.heard[res.From]; ok && h.ID == res.ID {
		h.lists = asker != "" && asker == string(n.id) && !res.Stranger && res.ID != ""
		n.heard[res.From] = h
	}
}

// answer answers a member. It is called from many goroutines.
func (n *Node) answer(m message) message {
	switch m.Kind {
	case askHello:
		n.hear(m)
		res := n.hello()
		res.Kind = ""
		res.Stranger = m.ID != "" && !n.knows(raft.ServerID(m.ID))
		return res
	case askRelease:
		return n.answerRelease(m)
	case askJoin:
		return n.answerJoin(m)
	case askChange:
		return n.answerChange(m)
	}
	return n.no(fmt.Sprintf("no question of kind %q", m.Kind))
}

func (n *Node) yes() message { return message{From: n.cfg.Self} }

func (n *Node) no(why string) message { return message{From: n.cfg.Self, Error: clip(why)} }

func (n *Node) knows(id raft.ServerID) bool {
	for _, s := range n.servers() {
		if s.ID == id {
			return true
		}
	}
	return false
}

// answerRelease takes a leader's word that it lets go.
func (n *Node) answerRelease(m message) message {
	if n.raft.Load() == nil || !n.transport.letGo(release{term: m.Term, to: raft.ServerID(m.To)}) {
		return n.no("not following that leader")
	}
	n.noteCause(m.From.String(), m.Reason)
	return n.yes()
}

// isMember tells whether an address is a member's, as far as this node knows: it is on the list, in the cluster, invited to it,
// or was heard, which takes the key. Safe from any goroutine.
func (n *Node) isMember(a netip.Addr) bool {
	n.mu.Lock()
	_, heard := n.heard[a]
	known := heard || slices.Contains(n.peers, a)
	n.mu.Unlock()
	return known || n.roster.has(a) || slices.ContainsFunc(n.servers(), func(s raft.Server) bool { return addressOf(s.Address) == a })
}
