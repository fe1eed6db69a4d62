package raft

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/raft"

	"github.com/keepvip/keepvip/election"
)

// plumbing is what a node stands on.
type plumbing struct {
	wire  wire
	store *store
	ask   func(ctx context.Context, to netip.Addr, m message) (message, error)
	close func() error
	renew func() // after the identity has changed
}

// Node is this machine's part in a raft cluster: one for the process. Whatever virtual addresses are elected by it move
// together, to the leader.
type Node struct {
	cfg        Config
	log        *slog.Logger
	plumbing   plumbing
	rejections *election.Rejections
	opened     time.Time
	roster     roster
	id         raft.ServerID // set before raft

	transport *transport // set before raft
	raft      atomic.Pointer[raft.Raft]

	look    chan struct{} // capacity 1: something has changed
	freed   chan struct{} // capacity 1: an elector has let go
	news    atomic.Bool   // the others are to be asked and told now
	asked   atomic.Bool   // the library was asked whether this node leads, and has not said
	leaving atomic.Bool   // for good: a library that has shut down would not answer
	tasks   sync.WaitGroup

	mu           sync.Mutex // guards what follows
	peers        []netip.Addr
	heard        map[netip.Addr]hearing
	asking       map[netip.Addr]bool
	joins        map[netip.Addr]joinRequest
	addresses    map[string]*addressFitness
	given        uint64 // the term in which this node lets go of the address
	transferring bool   // leadership is being passed on
	changing     bool   // the membership is being changed
	joining      bool   // this node is asking to be let in
	nextTransfer time.Time
	stranger     time.Time // since when others say that this node is no member; zero when they do not
	refused      string    // why it may not become one
	trouble      string    // why it is in no election
	leader       netip.Addr
	taken        time.Time // when a node was last known to begin to hold the address
	moving       cause
	// leaderless is since when no leader is known; zero while one is.
	leaderless time.Time
	lost       bool // no leader can be elected
}

// joinRequest is the wish of a node to be let in, told to the leader of a term. In another term it counts no more: the node may have
// been in, and removed, since then. It asks again as long as it is out.
type joinRequest struct {
	id   raft.ServerID
	term uint64
}

// hearing is what a member has last said of itself.
type hearing struct {
	message
	at    time.Time
	lists bool // it has this node in its configuration, by the answer that it gave last
}

// Open listens on this node's address. The node takes part in the cluster from Run on.
func Open(cfg Config) (*Node, error) {
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	st, err := openStore(cfg.Dir, newLibrary(cfg.Log))
	if err != nil {
		return nil, err
	}
	inner, err := net.Listen("tcp", netip.AddrPortFrom(cfg.Self, cfg.Port).String())
	if err != nil {
		return nil, errors.Join(fmt.Errorf("raft: listen: %w", err), st.close())
	}
	n := newNode(cfg)
	n.connect(inner, st)
	return n, nil
}

func newNode(cfg Config) *Node {
	return &Node{
		cfg: cfg, log: cfg.Log, rejections: newRejections(cfg.Log), peers: sorted(cfg.Peers), opened: time.Now(),
		look: make(chan struct{}, 1), freed: make(chan struct{}, 1),
		heard: map[netip.Addr]hearing{}, asking: map[netip.Addr]bool{},
		joins: map[netip.Addr]joinRequest{}, addresses: map[string]*addressFitness{}, trouble: "starting",
	}
}

// connect lays the pipes: the listener with its two doors, the library's transport, and the RPC client.
func (n *Node) connect(inner net.Listener, st *store) {
	d := dialer{id: n.cfg.Identity, self: n.cfg.Self, port: n.cfg.Port}
	talk := newStream(d, n.cfg.Heartbeat, n.cfg.Clock)
	answers := &rpcServer{answer: n.answer, refuse: n.rejections.Add}
	l := newListener(inner, n.cfg.Identity, n.isMember, n.rejections.Add, map[string]func(net.Conn){
		talk.protocol: talk.take, protocolMember: answers.take,
	})
	asks := newRPCClient(func(ctx context.Context, to netip.Addr) (net.Conn, error) { return talk.call(ctx, to, protocolMember) })
	w := raft.NewNetworkTransportWithConfig(&raft.NetworkTransportConfig{
		Stream: talk, MaxPool: 2, MaxRPCsInFlight: 1, Timeout: max(n.cfg.Heartbeat, 500*time.Millisecond), Logger: newLibrary(n.log),
	})
	n.tasks.Go(l.serve)
	n.plumbing = plumbing{
		wire: w, store: st, ask: asks.ask,
		renew: func() { asks.hangUp(); l.hangUp(); w.CloseStreams() },
		close: func() error {
			err := errors.Join(l.close(), w.Close())
			asks.hangUp()
			answers.wg.Wait()
			return errors.Join(err, st.close())
		},
	}
}

// IdentityChanged ends the connections that were made with an older key or certificate.
func (n *Node) IdentityChanged() {
	if n.plumbing.renew != nil {
		n.plumbing.renew()
	}
}

// Run takes part in the cluster until ctx ends, then passes leadership on, if it can, and gives everything back. The
// electors have to be done by then.
func (n *Node) Run(ctx context.Context) {
	tick := n.cfg.Clock.Timer()
	defer tick.Stop()
	var leaderCh <-chan bool
	gossiped := time.Time{}
	for ctx.Err() == nil {
		if r := n.raft.Load(); r != nil && leaderCh == nil {
			leaderCh = r.LeaderCh()
			n.tasks.Go(func() { n.nudgeElections(ctx) })
		}
		now, news := time.Now(), n.news.Swap(false)
		if news || gossiped.Before(whole(now, n.gossipEvery())) {
			gossiped = now
			n.gossip(ctx, news)
		}
		n.step(ctx)
		tick.Set(nextWhole(time.Now(), n.pace()))
		select {
		case <-ctx.Done():
		case <-tick.C:
		case <-n.look:
		case <-leaderCh: // a level: step looks at the state itself
		}
	}
	n.stop()
}

// pace is how often this node looks at itself and at the others.
func (n *Node) pace() time.Duration {
	return min(max(n.cfg.Heartbeat, 200*time.Millisecond), time.Second)
}

// gossipEvery is how often this node asks the others how they are. Where everybody is in the cluster and well known only what
// changes is news, and that is told when it does; it is enough then that one of two asks the other.
func (n *Node) gossipEvery() time.Duration {
	if n.settled() {
		return 2 * n.pace()
	}
	return n.pace()
}

// step looks at everything once.
func (n *Node) step(ctx context.Context) {
	if n.raft.Load() == nil {
		if err := n.bootstrap(); err != nil {
			n.setTrouble(err.Error())
		}
	}
	if r := n.raft.Load(); r != nil {
		n.noteLeader(r)
		n.noteQuorum()
		if r.State() == raft.Leader {
			n.lead(ctx, r)
		} else {
			n.requestJoin(ctx)
		}
	}
	n.wakeAll()
}

func (n *Node) noteLeader(r *raft.Raft) {
	leader := n.leaderNow(r)
	n.mu.Lock()
	defer n.mu.Unlock()
	n.leader = leader
	switch {
	case leader.IsValid():
		n.leaderless = time.Time{}
	case n.leaderless.IsZero():
		n.leaderless = time.Now()
	}
}

// leaderNow is the leader that the library knows; the zero Addr for none.
func (n *Node) leaderNow(r *raft.Raft) netip.Addr {
	address, _ := r.LeaderWithID()
	return addressOf(address)
}

// gossipNow tells everybody at once how this node is, and not at the next turn.
func (n *Node) gossipNow() {
	n.news.Store(true)
	n.wake()
}

// wake makes the loop look again. It never blocks.
func (n *Node) wake() {
	select {
	case n.look <- struct{}{}:
	default:
	}
}

func (n *Node) setTrouble(why string) {
	n.mu.Lock()
	fresh := n.trouble != why
	n.trouble = why
	n.mu.Unlock()
	if fresh && why != "" {
		n.log.Info("not in the raft election yet", "reason", why)
	}
}

// stop passes leadership on and gives everything back.
func (n *Node) stop() {
	n.leaving.Store(true)
	ctx, cancel := context.WithTimeout(context.Background(), 4*n.cfg.Heartbeat)
	defer cancel()
	if r := n.raft.Load(); r != nil {
		n.transferBeforeLeaving(ctx, r)
		if err := r.Shutdown().Error(); err != nil {
			n.log.Debug("raft did not stop in order", "error", err)
		}
	}
	if err := n.plumbing.close(); err != nil {
		n.log.Debug("raft is not closed in order", "error", err)
	}
	n.tasks.Wait()
}
