package raft

import (
	"fmt"
	"net/netip"
	"strings"
	"time"

	"github.com/hashicorp/raft"
)

// freshFor is for how many paces what a member has said counts.
const freshFor = 4

func (h hearing) fresh(now time.Time, pace time.Duration) bool {
	return !h.at.IsZero() && now.Sub(h.at) < freshFor*pace
}

// listenFor is for how many paces a node listens before it founds a cluster. Members ask each other in every pace.
const listenFor = 2

// start says how a node gets into its cluster.
type start uint8

const (
	waiting start = iota
	found         // a new cluster, of the peers
	rejoin        // a cluster that exists, as a new member
)

// choose says how a node with an empty store gets into its cluster, by what others have said of themselves lately, and for how
// long it has listened to them. It is pure. The text says what it waits for.
//
// A cluster that has once elected a leader must not be founded again: somebody may have lost whom this node has voted for or followed.
// Nor may a minority found one, as the others may have a cluster already. Whoever is in a cluster counts, on the list or not:
// members come and go, and a list may be as old as the cluster.
func choose(self netip.Addr, peers []netip.Addr, others map[netip.Addr]message, listened, enough time.Duration) (start, string) {
	for _, m := range others {
		if m.Formed {
			return rejoin, ""
		}
	}
	list := digest(peers)
	here, present := 1, []string{}
	for _, p := range sorted(peers) {
		m, ok := others[p]
		switch {
		case p == self || !ok:
		case m.List != list:
			return waiting, fmt.Sprintf("%s has another list under raft.peers, want the same on all nodes", p)
		default:
			here++
			present = append(present, p.String())
		}
	}
	if need := len(peers)/2 + 1; here < need {
		return waiting, fmt.Sprintf("%d of %d raft.peers present (this node%s), want %d to begin", here, len(peers), prefixed(present), need)
	}
	if listened < enough {
		return waiting, "listening for a cluster that exists"
	}
	return found, ""
}

func prefixed(list []string) string {
	if len(list) == 0 {
		return ""
	}
	return ", " + strings.Join(list, ", ")
}

// bootstrap gets the node into its cluster, if that is possible by now.
func (n *Node) bootstrap() error {
	st := n.plumbing.store
	used, err := st.used()
	if err != nil {
		return err
	}
	id, err := st.id()
	if err != nil {
		return err
	}
	base := raft.ServerID(n.cfg.Self.String())
	if used {
		if id == "" {
			id = base
		}
		if err := n.recover(id); err != nil {
			return err
		}
		return n.begin(id)
	}
	how, why := choose(n.cfg.Self, n.cfg.Peers, n.present(), time.Since(n.opened), listenFor*n.pace())
	switch how {
	case waiting:
		n.setTrouble(why)
		return nil
	case rejoin:
		id = freshID(base)
	case found:
		id = base
	}
	if err := st.setID(id); err != nil {
		return err
	}
	if how == found {
		if err := raft.BootstrapCluster(n.raftConfig(id), st.logs, st.stable, st.snapshots, n.plumbing.wire, firstMembers(n.cfg.Peers)); err != nil {
			return fmt.Errorf("raft: begin a cluster: %w", err)
		}
	}
	return n.begin(id)
}

// present is what has been heard lately.
func (n *Node) present() map[netip.Addr]message {
	n.mu.Lock()
	defer n.mu.Unlock()
	out := map[netip.Addr]message{}
	now := time.Now()
	for a, h := range n.heard {
		if h.fresh(now, n.pace()) {
			out[a] = h.message
		}
	}
	return out
}

// begin starts the library.
func (n *Node) begin(id raft.ServerID) error {
	hold, err := n.plumbing.store.heartbeat(n.cfg.Heartbeat)
	if err != nil {
		return err
	}
	t := newTransport(n.plumbing.wire, id, n.cfg.Self, n.cfg.Heartbeat)
	t.clock = n.cfg.Clock
	t.voice, t.listed, t.reluctance, t.acked, t.again = n.voice, n.listedBy, n.reluctance, n.acked, n.beatAgain
	n.id, n.transport = id, t
	st := n.plumbing.store
	r, err := raft.NewRaft(n.raftConfig(id), &n.roster, st.logs, st.stable, st.snapshots, t)
	if err != nil {
		return fmt.Errorf("raft: %w", err)
	}
	n.raft.Store(r)
	t.start(hold)
	n.setTrouble("")
	n.log.Info("in the raft cluster", "id", string(id), "members", len(n.servers()))
	return nil
}

func (n *Node) raftConfig(id raft.ServerID) *raft.Config {
	c := raft.DefaultConfig()
	c.LocalID = id
	c.HeartbeatTimeout, c.LeaderLeaseTimeout = n.cfg.Heartbeat, n.cfg.Heartbeat
	c.ElectionTimeout = n.cfg.Heartbeat + time.Microsecond // room for nudge: the heartbeat timeout may not be longer
	c.CommitTimeout = 2 * n.cfg.Heartbeat                  // so soon does a member that was away catch up; an idle leader calls each member as often
	c.SnapshotThreshold, c.TrailingLogs, c.SnapshotInterval = 128, 128, 2*time.Minute
	c.Logger = newLibrary(n.log)
	return c
}

// voice tells whether this node's vote counts: only once the cluster has it as a voter under the identity of its store.
func (n *Node) voice() bool {
	for _, s := range n.servers() {
		if s.ID == n.id {
			return s.Suffrage == raft.Voter
		}
	}
	return false
}

// listedBy tells whether a candidate has said that it knows this node under the identity of its store. If so, a vote asked for
// is this node's own, and not that of an older self, which was removed before, for good. The leader that was about to give
// this node its vote may be the only one to know of it; nobody could lead any more if it were not heard.
func (n *Node) listedBy(candidate raft.ServerID) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, h := range n.heard {
		if h.ID == string(candidate) {
			return h.lists
		}
	}
	return false
}

// servers is the newest configuration of the cluster that this node knows.
func (n *Node) servers() []raft.Server {
	r := n.raft.Load()
	if r == nil {
		return nil
	}
	f := r.GetConfiguration()
	if f.Error() != nil {
		return nil
	}
	return f.Configuration().Servers
}

func (n *Node) voters() []raft.ServerID {
	var out []raft.ServerID
	for _, s := range n.servers() {
		if s.Suffrage == raft.Voter {
			out = append(out, s.ID)
		}
	}
	return out
}
