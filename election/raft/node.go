package raft

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/raft"

	"github.com/keepvip/keepvip/election"
	"github.com/keepvip/keepvip/internal/base/nudge"
)

// Node is this machine's part in a raft cluster: one for the process. Whatever virtual addresses are elected by it move
// together, to the leader. It joins its parts, each of which knows only those above it, and drives them.
type Node struct {
	*plumbing
	rejections *election.Rejections
	cause      cause
	cluster    cluster
	addresses  addresses
	lease      lease
	gossip     gossip
	transfer   transfer
	membership membership
	bootstrap  bootstrap

	leaderless atomic.Pointer[time.Time] // since when no leader is known; nil while one is
	lost       bool                      // no leader can be elected; belongs to Run
	still      atomic.Int32              // how many want this node to stand still
}

// plumbing is what the parts of a node have in common.
type plumbing struct {
	cfg    Config
	log    *slog.Logger
	opened time.Time
	look   nudge.Signal   // something has changed: Run looks at everything again
	tasks  sync.WaitGroup // what goes on beside Run
	disk   *diskWait
	peers  atomic.Pointer[[]netip.Addr] // as SetPeers says

	// What connect lays:
	wire  wire
	store *store
	ask   func(ctx context.Context, to netip.Addr, m message) (message, error)
	close func() error
	renew func() // after the identity has changed
}

// list is raft.peers as it is now.
func (p *plumbing) list() []netip.Addr { return *p.peers.Load() }

func (p *plumbing) yes() message { return message{From: p.cfg.Self} }

func (p *plumbing) no(why string) message { return message{From: p.cfg.Self, Error: textOf(why)} }

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
	p := &plumbing{cfg: cfg, log: cfg.Log, opened: time.Now(), look: nudge.New(), disk: newDiskWait(cfg.Log)}
	p.peers.Store(&cfg.Peers)
	n := &Node{plumbing: p, rejections: newRejections(cfg.Log)}
	n.cluster.plumbing = p
	n.addresses = addresses{plumbing: p, freed: nudge.New(), byName: map[string]*addressFitness{}}
	n.lease = lease{plumbing: p, cluster: &n.cluster}
	n.gossip = gossip{plumbing: p, cluster: &n.cluster, addresses: &n.addresses, heard: map[netip.Addr]hearing{}, asking: map[netip.Addr]bool{}, silent: map[netip.Addr]bool{}}
	n.transfer = transfer{plumbing: p, cluster: &n.cluster, addresses: &n.addresses, lease: &n.lease, gossip: &n.gossip, cause: &n.cause}
	n.membership = membership{plumbing: p, cluster: &n.cluster, gossip: &n.gossip, transfer: &n.transfer, joins: map[netip.Addr]joinRequest{}}
	n.bootstrap = bootstrap{plumbing: p, gossip: &n.gossip, begin: n.begin, trouble: "starting"}
	return n
}

// connect lays the pipes: the listener with its two doors, the library's transport, and the RPC client.
func (n *Node) connect(inner net.Listener, st *store) {
	d := dialer{id: n.cfg.Identity, self: n.cfg.Self, port: n.cfg.Port}
	talk := newStream(d, n.cfg.Heartbeat)
	answers := &rpcServer{answer: n.answer, refuse: n.rejections.Add}
	l := newListener(inner, n.cfg.Identity, n.isMember, n.rejections.Add, map[string]func(net.Conn){
		talk.protocol: talk.take, protocolMember: answers.take,
	})
	asks := newRPCClient(func(ctx context.Context, to netip.Addr) (net.Conn, error) { return d.dial(ctx, to, protocolMember) })
	w := raft.NewNetworkTransportWithConfig(&raft.NetworkTransportConfig{
		Stream: talk, MaxPool: 2, MaxRPCsInFlight: 1, Timeout: max(n.cfg.Heartbeat, 500*time.Millisecond), Logger: newLibrary(n.log),
	})
	n.wire, n.store, n.ask = w, st, n.unlessStill(asks.ask)
	n.renew = func() { asks.hangUp(); l.hangUp(); w.CloseStreams() }
	n.close = func() error {
		err := errors.Join(l.close(), w.Close())
		asks.hangUp()
		answers.wg.Wait()
		return errors.Join(err, st.close())
	}
	n.tasks.Go(l.serve)
}

// IdentityChanged ends the connections that were made with an older key or certificate.
func (n *Node) IdentityChanged() {
	if n.renew != nil {
		n.renew()
	}
}

// Expect says which virtual addresses this node is to hold when it leads. One that cannot get into its election makes the
// node unable to lead, because all of them move together.
func (n *Node) Expect(names []string) { n.addresses.expect(names) }

// SetPeers makes the list that a cluster begins with another one, and tells whether this node has begun already, now or in an earlier run: then
// only Change changes who the members are.
func (n *Node) SetPeers(list []netip.Addr) (begun bool) {
	n.bootstrap.beginning.Lock()
	defer n.bootstrap.beginning.Unlock()
	n.peers.Store(&list)
	n.gossip.now()
	used, err := n.store.used()
	return n.cluster.started() || used || err != nil
}

// Change adds or removes a member, on whichever node it is called: it is the leader that does it. The error says why not.
func (n *Node) Change(ctx context.Context, op string, subject netip.Addr) error {
	return n.membership.change(ctx, op, subject)
}

// Run takes part in the cluster until ctx ends, then passes leadership on, if it can, and gives everything back. The
// electors have to be done by then.
func (n *Node) Run(ctx context.Context) {
	tick := time.NewTimer(0)
	defer tick.Stop()
	var stepped time.Time // when it has looked at everything
	for all := true; ctx.Err() == nil; {
		n.gossip.round(ctx)
		n.gossip.noteStale(time.Now())
		if all {
			stepped = time.Now()
			n.step(ctx)
		}
		tick.Reset(untilWhole(n.gossip.pace()))
		all = true
		select {
		case <-ctx.Done():
		case <-tick.C:
			all = stepped.Before(whole(time.Now(), n.cfg.pace())) // there are more rounds than steps while this node spreads
		case <-n.look:
		case <-n.cluster.leaderCh(): // a level: step looks at the state itself
		}
	}
	n.stop()
}

// step looks at everything once.
func (n *Node) step(ctx context.Context) {
	if !n.cluster.started() {
		n.bootstrap.try(ctx)
	}
	if n.cluster.started() {
		n.noteQuorum()
		n.gossip.noteSilent(time.Now())
		if n.cluster.leading() != nil {
			n.transfer.consider(ctx)
			n.membership.next()
		} else {
			n.bootstrap.join(ctx)
		}
	}
	n.addresses.wakeAll()
}

// begin starts the library.
func (n *Node) begin(ctx context.Context, id raft.ServerID) error {
	lock, err := n.store.heartbeat(n.cfg.Heartbeat)
	if err != nil {
		return err
	}
	c := &n.cluster
	c.id, c.transport = id, newTransport(n.wire, id, n.cfg)
	t := c.transport
	t.voice, t.listed, t.reluctance, t.again = c.voice, n.gossip.listedBy, n.addresses.reluctance, c.beatAgain
	t.still = n.standsStill
	t.acked = func() { n.addresses.renewed(n.lease.due(time.Now())) }
	kept := &waitingStore{LogStore: n.store.logs, StableStore: n.store.stable, diskWait: n.disk}
	var r *raft.Raft
	err = guarded(func() (err error) { // it panics at what it cannot read, before it has begun
		r, err = raft.NewRaft(n.cfg.library(id), &n.membership.roster, kept, kept, n.store.snapshots, t)
		return err
	})
	if err != nil {
		return fmt.Errorf("raft: %w", err)
	}
	c.library.Store(r)
	t.start(lock)
	n.tasks.Go(func() { c.nudgeElections(ctx) })
	n.log.Info("in the raft cluster", "id", string(id), "members", len(c.servers()))
	return nil
}

// answer answers a member. It is called from many goroutines.
func (n *Node) answer(m message) message {
	if n.standsStill() {
		return n.no("stands still")
	}
	switch m.Kind {
	case askHello:
		return n.gossip.answer(m)
	case askRelease:
		if !n.cluster.started() || !n.cluster.transport.letGo(release{term: m.Term, to: raft.ServerID(m.To)}) {
			return n.no("not following that leader")
		}
		n.cause.note(n.gossip.node(m.From), word{m.Code, m.Reason})
		return n.yes()
	case askBack:
		return n.answerBack(m)
	case askJoin:
		return n.membership.answerJoin(m)
	case askChange:
		return n.membership.answerChange(m)
	}
	return n.no(fmt.Sprintf("no question of kind %q", m.Kind))
}

// isMember tells whether an address is a member's, as far as this node knows: it is on the list, in the cluster, invited to it,
// or was heard, which takes the key. Safe from any goroutine.
func (n *Node) isMember(a netip.Addr) bool {
	return slices.Contains(n.list(), a) || !n.gossip.of(a).at.IsZero() || n.membership.lists(a)
}

// stop passes leadership on and gives everything back.
func (n *Node) stop() {
	n.cluster.leaving.Store(true)
	ctx, cancel := context.WithTimeout(context.Background(), 4*n.cfg.Heartbeat)
	defer cancel()
	if r := n.cluster.library.Load(); r != nil {
		n.transfer.beforeLeaving(ctx)
		n.cluster.transport.leave()
		down := r.Shutdown()
		n.disk.end()
		if err := down.Error(); err != nil {
			n.log.Debug("raft did not stop in order", "error", err)
		}
	}
	if err := n.close(); err != nil {
		n.log.Debug("raft is not closed in order", "error", err)
	}
	n.tasks.Wait()
}
