package raft

import (
	"fmt"
	"net/netip"
	"time"

	"github.com/keepvip/keepvip/internal/base/code"
)

// leaderlessFor is for how many heartbeat timeouts a majority that is heard may be without a leader. Elections take one or two.
const leaderlessFor = 10

// Quorum is how the election stands, as this node knows it.
type Quorum struct {
	Majority    bool       `json:"quorum"`               // a leader is known, or could be elected by the voters that are heard
	Leader      netip.Addr `json:"leader,omitzero"`      // absent while none is known
	LeaderNode  string     `json:"leaderNode,omitempty"` // its name, if it has said one
	Leaderless  *time.Time `json:"leaderlessSince,omitempty"`
	Term        uint64     `json:"term"`
	Voters      int        `json:"voters"`      // members that have a vote
	VotersHeard int        `json:"votersHeard"` // those of them that are heard, this node included
}

// Quorum says how the election stands; the zero Quorum before this node is in the cluster. A majority is taken for lost when
// no leader is known for two paces and too few voters are heard: a node that has just started has not heard them yet.
func (n *Node) Quorum() Quorum {
	r := n.cluster.library.Load()
	if r == nil {
		return Quorum{}
	}
	v, q := n.gossip.view(), Quorum{Leader: n.cluster.leader(), Term: r.CurrentTerm()}
	q.Voters, q.VotersHeard = v.without("")
	q.LeaderNode = v.nameOf(q.Leader)
	since := n.leaderless.Load()
	q.Majority = q.Leader.IsValid() || q.VotersHeard > q.Voters/2 || since == nil || v.now.Sub(*since) < listenFor*n.cfg.pace()
	if !q.Leader.IsValid() {
		q.Leaderless = since
	}
	return q
}

// blocked is why no node can hold an address; empty when one can, or an election goes on.
func (q Quorum) blocked(now time.Time, heartbeat time.Duration) word {
	switch {
	case q.Voters == 0:
		return word{} // not in the cluster: there is another reason
	case !q.Majority:
		return word{code.NoQuorum, fmt.Sprintf("NO QUORUM: %d of %d voters heard, want %d", q.VotersHeard, q.Voters, q.Voters/2+1)}
	case q.Leaderless != nil && now.Sub(*q.Leaderless) > leaderlessFor*heartbeat:
		return word{code.NoLeader, fmt.Sprintf("NO LEADER, although %d of %d voters are heard: they do not hear each other, or their disks are slow", q.VotersHeard, q.Voters)}
	}
	return word{}
}

// noSpare is why no other node could lead after the death of the holder, which is one of the voters that are heard; empty when one could.
func (q Quorum) noSpare() string {
	if left := q.VotersHeard - 1; q.Leader.IsValid() && left <= q.Voters/2 {
		return fmt.Sprintf("without the holder %d of %d voters would be heard, want %d", left, q.Voters, q.Voters/2+1)
	}
	return ""
}

// noteQuorum notes since when no leader is known, and logs when the majority is lost, and when there is one again.
func (n *Node) noteQuorum() {
	if now := time.Now(); n.cluster.leader().IsValid() {
		n.leaderless.Store(nil)
	} else {
		n.leaderless.CompareAndSwap(nil, &now)
	}
	if n.disk.why() != "" {
		return // others may have a leader, and this one does not hear of it
	}
	q, before := n.Quorum(), n.lost
	why := q.blocked(time.Now(), n.cfg.Heartbeat)
	n.lost = why.text != ""
	switch {
	case n.lost && !before:
		n.log.Warn("no node can hold an address elected by raft", "reason", why.text, "code", string(why.code))
	case !n.lost && before:
		n.log.Info("nodes can hold addresses elected by raft again", "voters", q.Voters, "heard", q.VotersHeard)
	}
}
