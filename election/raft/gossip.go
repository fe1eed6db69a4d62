package raft

import (
	"context"
	"maps"
	"net/netip"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/raft"

	"github.com/keepvip/keepvip/election"
)

const (
	// forgetAfter is for how long a node that is no member any more is still shown, and asked unless it is on the list.
	forgetAfter = time.Minute
	// maxHeard bounds how many addresses a node talks to.
	maxHeard = 64
)

// gossip tells the members how this node is, and keeps what they say of themselves. Safe for concurrent use.
type gossip struct {
	*plumbing
	cluster   *cluster
	addresses *addresses

	last      time.Time    // when the newest round began; belongs to Node.Run
	wereStale []netip.Addr // as those that spread know; belongs to Node.Run
	news      atomic.Bool  // the others are to be asked and told now

	mu       sync.Mutex // guards what follows
	heard    map[netip.Addr]hearing
	asking   map[netip.Addr]bool
	silent   map[netip.Addr]bool // members that were heard and are not any more
	lines    election.Lines
	excluded time.Time // since when the leader says that this node is no member; zero when it does not
	taken    time.Time // when a node was last known to begin to hold the address
}

// now tells everybody at once how this node is, and not at the next turn.
func (g *gossip) now() {
	g.news.Store(true)
	g.look.Send()
}

// round asks everybody how they are, all at once, but nobody twice at a time; when there is news, and regularly. A question says
// as much as its answer: where everybody is in the cluster and well known it is enough that one of two asks the other, and, while no load is
// spread, half as often.
func (g *gossip) round(ctx context.Context) {
	now, news, settled, every := time.Now(), g.news.Swap(false), g.settled(), g.pace()
	if settled && !g.addresses.spreading() {
		every *= 2
	}
	if !news && !g.last.Before(whole(now, every)) {
		return
	}
	g.last = now
	hello := g.hello()
	for _, a := range g.peers(news || !settled) {
		g.tasks.Go(func() { g.exchange(ctx, a, hello) })
	}
}

// exchange asks one of them.
func (g *gossip) exchange(ctx context.Context, a netip.Addr, hello message) {
	ctx, cancel := context.WithTimeout(ctx, 2*g.cfg.pace())
	defer cancel()
	if res, err := g.ask(ctx, a, hello); err != nil {
		g.log.Debug("a raft member does not answer", "error", err)
	} else {
		g.hear(res, hello.ID != "")
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(g.asking, a)
}

// peers are those to ask now: all, or those whose address is greater.
func (g *gossip) peers(all bool) []netip.Addr {
	set := map[netip.Addr]bool{}
	for _, s := range g.cluster.servers() {
		set[addressOf(s.Address)] = true
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	maps.DeleteFunc(g.heard, func(a netip.Addr, h hearing) bool { return !set[a] && time.Since(h.at) > forgetAfter })
	for _, a := range g.others() {
		set[a] = true
	}
	var out []netip.Addr
	for a := range set {
		if a.IsValid() && a != g.cfg.Self && !g.asking[a] && len(out) < maxHeard && (all || g.cfg.Self.Less(a)) {
			g.asking[a] = true
			out = append(out, a)
		}
	}
	return out
}

// others are the addresses on the list and those that were heard. The caller holds the lock.
func (g *gossip) others() []netip.Addr {
	out := slices.DeleteFunc(slices.Clone(g.list()), func(a netip.Addr) bool { return a == g.cfg.Self })
	for a := range g.heard {
		if !slices.Contains(out, a) {
			out = append(out, a)
		}
	}
	return out
}

// settled tells whether a leader is known, this node is a voter, as is everybody that it talks to, and all of them are heard.
func (g *gossip) settled() bool {
	voters, leader := g.cluster.voters(), g.cluster.leader()
	g.mu.Lock()
	defer g.mu.Unlock()
	others, now := g.others(), time.Now()
	if !slices.Contains(voters, g.cluster.self()) || !leader.IsValid() || !g.excluded.IsZero() || len(others)+1 != len(voters) {
		return false
	}
	for _, a := range others {
		if h := g.heard[a]; !slices.Contains(voters, raft.ServerID(h.ID)) || !h.fresh(now, g.cfg.pace()) {
			return false
		}
	}
	return true
}

// hello is what this node says of itself.
func (g *gossip) hello() message {
	own := g.addresses.fitness()
	m := message{
		Kind: askHello, From: g.cfg.Self, Priority: own.priority, Reason: textOf(own.reason), Code: own.code,
		Witness: g.cfg.witness(g.cfg.Self), Heartbeat: g.cfg.Heartbeat, Holds: g.addresses.holding(),
		Node: nameOf(g.cfg.Node), Software: nameOf(g.cfg.Software), Spread: g.addresses.spreads(time.Now()), Unreached: g.addresses.unreached(),
	}
	if r := g.cluster.library.Load(); r == nil {
		m.Formed = g.store.formed() // also before it is in the cluster again: nobody is to found another one beside it
	} else {
		m.ID, m.Seeded = string(g.cluster.self()), g.cluster.voice() && g.disk.why() == ""
		m.Term, m.Last = r.CurrentTerm(), r.LastIndex()
		m.Formed, m.State, m.Leader = m.Term > 1, r.State().String(), g.cluster.leader()
	}
	m.List = g.founders(m.Formed)
	return m
}

// founders is the digest of the list that a cluster begins with, as far as it is up to this node. A store that has begun keeps its list: a newer one
// counts for nothing there. Those that found a cluster by the newer one would not have this node in theirs.
func (g *gossip) founders(formed bool) string {
	if !formed {
		if begun := g.store.begunWith(); begun != "" {
			return begun
		}
	}
	return digest(g.list())
}

// answer takes in a question, and answers it.
func (g *gossip) answer(m message) message {
	g.hear(m, false)
	res := g.hello()
	res.Kind = ""
	res.Excluded = m.ID != "" && !g.cluster.has(raft.ServerID(m.ID), m.From)
	return res
}

// hear takes in what a member has said of itself. With named it answers a question in which this node has said who it is.
func (g *gossip) hear(m message, named bool) {
	now := time.Now()
	g.mu.Lock()
	old := g.heard[m.From]
	h := hearing{message: m, at: now, lists: old.lists && old.ID == m.ID}
	if m.Kind != askHello { // a question says nothing of us
		h.lists = named && !m.Excluded && m.ID != ""
		g.noteStanding(m, now)
	}
	if len(g.heard) < maxHeard || !old.at.IsZero() {
		g.heard[m.From] = h
	}
	takes := m.Holds && !old.Holds
	if takes {
		g.taken = now
	}
	g.mu.Unlock()
	if old.at.IsZero() || old.Priority != m.Priority || old.Formed != m.Formed || old.ID != m.ID || old.List != m.List {
		g.look.Send()
	}
	if old.Priority != m.Priority || !spreadsAlike(old.Spread, m.Spread) {
		g.addresses.stir()
	}
	if takes {
		g.now() // the former holder says whether it lives
	}
	if old.Holds != m.Holds {
		g.addresses.wakeAll()
	}
}

// noteStanding notes whether the leader has this node for a member. The caller holds the lock.
func (g *gossip) noteStanding(m message, now time.Time) {
	switch {
	case m.State != raft.Leader.String():
	case !m.Excluded:
		g.excluded = time.Time{}
	case g.excluded.IsZero():
		g.excluded = now
	}
}

// excludedSince is since when the leader says that this node is no member; zero when it does not.
func (g *gossip) excludedSince() time.Time {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.excluded
}

// noteTaken notes that this node has begun to hold the address.
func (g *gossip) noteTaken(now time.Time) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.taken = now
}

// node is the node at an address, with its name where it has said it.
func (g *gossip) node(a netip.Addr) election.Node {
	if a == g.cfg.Self {
		return election.Node{Address: a, Name: nameOf(g.cfg.Node)}
	}
	return election.Node{Address: a, Name: g.of(a).Node}
}

// of is what a member has last said; the zero hearing for nothing.
func (g *gossip) of(a netip.Addr) hearing {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.heard[a]
}

// listedBy tells whether a candidate has said that it knows this node under the identity of its store. If so, a vote asked for
// is this node's own, and not that of an older self, which was removed before, for good. The leader that was about to give
// this node its vote may be the only one to know of it; nobody could lead any more if it were not heard.
func (g *gossip) listedBy(candidate raft.ServerID) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, h := range g.heard {
		if h.ID == string(candidate) {
			return h.lists
		}
	}
	return false
}

// view is what this node knows of the members now.
func (g *gossip) view() view {
	servers := g.cluster.servers()
	g.mu.Lock()
	defer g.mu.Unlock()
	return view{cfg: g.cfg, self: g.cluster.self(), servers: servers, heard: maps.Clone(g.heard), opened: g.opened, taken: g.taken, now: time.Now()}
}
