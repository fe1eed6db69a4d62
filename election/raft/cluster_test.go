package raft

import (
	"context"
	"errors"
	"log/slog"
	"math/rand/v2"
	"net/netip"
	"os"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hashicorp/raft"
	"github.com/stretchr/testify/require"

	"github.com/keepvip/keepvip/election"
)

// lan is a network of nodes in one synctest bubble.
type lan struct {
	t         *testing.T
	heartbeat time.Duration
	wg        sync.WaitGroup
	acked     atomic.Int64 // calls of a leader that were answered

	mu    sync.Mutex // guards what follows
	hosts map[netip.Addr]*host
	cut   map[[2]netip.Addr]bool // no packets from, to
	loss  float64
	delay time.Duration
	rand  *rand.Rand
	votes map[ballot]raft.ServerID
	crown map[uint64]raft.ServerID // the leader of each term
}

// ballot is one vote that a member has in a term.
type ballot struct {
	term  uint64
	voter raft.ServerID
}

// host is one machine: its disk survives its node.
type host struct {
	lan  *lan
	self netip.Addr
	cfg  Config
	disk disk

	proc    *process
	node    *Node
	inmem   *raft.InmemTransport
	elector *Elector
	cancel  context.CancelFunc
	stopped chan struct{}
	lag     time.Duration // how much later than its elector the node ends

	mu        sync.Mutex // guards what follows
	fitness   election.Fitness
	bound     bool
	decisions []election.Decision
	bindErr   error
	frozen    bool      // the process stands still: nothing is released, nothing renewed
	granted   time.Time // until when the kernel lets the address answer
}

// process is one life of a node. A dead one may go on in the bubble for a while, but nobody hears anything of it.
type process struct{ dead atomic.Bool }

var errCut = errors.New("no route")

func newLan(t *testing.T, n int) *lan {
	l := &lan{
		t: t, heartbeat: 500 * time.Millisecond, hosts: map[netip.Addr]*host{}, cut: map[[2]netip.Addr]bool{},
		delay: 200 * time.Microsecond, rand: rand.New(rand.NewPCG(1, 2)), votes: map[ballot]raft.ServerID{}, crown: map[uint64]raft.ServerID{},
	}
	var peers []netip.Addr
	for i := range n {
		peers = append(peers, addr(i))
	}
	for i := range n {
		l.add(i, peers)
	}
	return l
}

func addr(i int) netip.Addr { return netip.AddrFrom4([4]byte{10, 77, 0, byte(11 + i)}) }

func (l *lan) add(i int, peers []netip.Addr) *host {
	id := &Identity{}
	require.NoError(l.t, id.UseKeys(make([]byte, 32)))
	h := &host{lan: l, self: addr(i), disk: emptyDisk()}
	h.cfg = Config{Self: h.self, Port: 1, Peers: peers, Heartbeat: l.heartbeat, Identity: id, Log: testLog(h.self)}
	l.mu.Lock()
	l.hosts[h.self] = h
	l.mu.Unlock()
	return h
}

func testLog(a netip.Addr) *slog.Logger {
	if os.Getenv("RAFT_LOG") == "" {
		return slog.New(slog.DiscardHandler)
	}
	level := slog.LevelInfo
	if os.Getenv("RAFT_LOG") == "debug" {
		level = slog.LevelDebug
	}
	return slog.New(slog.NewTextHandler(os.Stdout, &slog.HandlerOptions{Level: level})).With("node", a.String())
}

// path tells whether a packet gets from a to b, after its time on the way.
func (l *lan) path(a, b netip.Addr) bool {
	l.mu.Lock()
	lost := l.cut[[2]netip.Addr{a, b}] || l.rand.Float64() < l.loss
	delay, ends := l.delay, []*host{l.hosts[a], l.hosts[b]}
	l.mu.Unlock()
	for _, h := range ends {
		lost = lost || h != nil && h.isFrozen()
	}
	if lost {
		return false
	}
	time.Sleep(delay)
	l.mu.Lock()
	defer l.mu.Unlock()
	return !l.cut[[2]netip.Addr{a, b}]
}

// voted checks a vote that was heard against all that were heard before, also of what the voter was before it crashed.
func (l *lan) voted(term uint64, voter, candidate raft.ServerID) {
	l.mu.Lock()
	defer l.mu.Unlock()
	b := ballot{term, voter}
	if before, ok := l.votes[b]; ok && before != candidate {
		l.t.Errorf("%s has voted for %s and for %s in term %d", voter, before, candidate, term)
	}
	l.votes[b] = candidate
}

// leads checks that a term has one leader, who has voted for itself.
func (l *lan) leads(term uint64, leader raft.ServerID) {
	l.voted(term, leader, leader)
	l.mu.Lock()
	defer l.mu.Unlock()
	if before, ok := l.crown[term]; ok && before != leader {
		l.t.Errorf("%s and %s lead in term %d", before, leader, term)
	}
	l.crown[term] = leader
}

func (l *lan) setCut(a, b netip.Addr, cut bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.cut[[2]netip.Addr{a, b}] = cut
}

// isolate cuts a from everybody, or joins it again.
func (l *lan) isolate(a netip.Addr, cut bool) {
	for b := range l.hosts {
		l.setCut(a, b, cut)
		l.setCut(b, a, cut)
	}
}

// boot starts the node of a host.
func (h *host) boot() {
	_, h.inmem = raft.NewInmemTransportWithTimeout(raft.ServerAddress(h.self.String()), h.lan.heartbeat)
	ctx, cancel := context.WithCancel(context.Background())
	h.cfg.Stopping = func() bool { return ctx.Err() != nil }
	n, p, inmem, disk := newNode(h.cfg), &process{}, h.inmem, h.disk
	n.wire, n.store = &lossy{InmemTransport: inmem, host: h, proc: p}, disk.store
	n.ask = n.unlessStill(func(ctx context.Context, to netip.Addr, m message) (message, error) { return h.ask(ctx, p, to, m) })
	n.close = func() error { return errors.Join(inmem.Close(), disk.close()) }
	h.lan.mu.Lock()
	h.node, h.proc = n, p
	h.lan.mu.Unlock()
	n.Expect([]string{"vip"})
	h.cancel, h.stopped = cancel, make(chan struct{})
	h.elector = n.NewElector("vip", group, 100, h.cfg.Log)
	h.elector.SetFitness(h.fitness)
	elector, stopped := h.elector, h.stopped
	h.lan.wg.Go(func() {
		defer close(stopped)
		nodeCtx, stopNode := context.WithCancel(context.Background())
		done := make(chan struct{})
		go func() { defer close(done); n.Run(nodeCtx) }()
		_ = elector.Run(ctx, func(d election.Decision) error { return h.follow(p, d) })
		time.Sleep(h.lag)
		stopNode()
		<-done
	})
}

// stop ends the node in order.
func (h *host) stop() {
	h.cancel()
	<-h.stopped
	h.lan.mu.Lock()
	h.node = nil
	h.lan.mu.Unlock()
}

// crash ends the process at once: nothing of what it does from now on is heard, and the disk stays as it is.
func (h *host) crash() {
	h.freeze(false)
	h.proc.dead.Store(true)
	h.disk = h.disk.after()
	h.cancel()
	h.lan.mu.Lock()
	defer h.lan.mu.Unlock()
	h.node = nil
}

func (h *host) follow(p *process, d election.Decision) error {
	for h.isFrozen() && !p.dead.Load() {
		time.Sleep(time.Millisecond)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if p.dead.Load() {
		return errCut
	}
	h.decisions = append(h.decisions, d)
	if d.Role == election.Serve && h.bindErr != nil {
		return h.bindErr
	}
	h.bound = d.Role == election.Serve
	return nil
}

func (h *host) fit(f election.Fitness) {
	h.fitness = f
	h.elector.SetFitness(f)
}

// answers tells whether this host answers for the address: it is bound, and the fence, which renews here whenever that is
// looked at, still has a lease.
func (h *host) answers() bool {
	until := h.elector.LeaseEnd()
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.frozen && until.After(h.granted) {
		h.granted = until
	}
	return h.bound && time.Now().Before(h.granted)
}

func (h *host) isFrozen() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.frozen
}

// freeze stops the process, as others see it, or lets it go on.
func (h *host) freeze(frozen bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.frozen = frozen
}

// ask is a question over the lan.
func (h *host) ask(ctx context.Context, p *process, to netip.Addr, m message) (message, error) {
	h.lan.mu.Lock()
	other := h.lan.hosts[to]
	var n *Node
	var taker *process
	if other != nil {
		n, taker = other.node, other.proc
	}
	h.lan.mu.Unlock()
	if n == nil || p.dead.Load() || !h.lan.path(h.self, to) {
		return message{}, errCut
	}
	res := n.answer(m)
	if p.dead.Load() || taker.dead.Load() || !h.lan.path(to, h.self) {
		<-ctx.Done()
		return message{}, ctx.Err()
	}
	if res.Error != "" {
		return res, errors.New(res.Error)
	}
	return res, ctx.Err()
}

// lossy is the library's transport in memory, over the lan.
type lossy struct {
	*raft.InmemTransport
	host *host
	proc *process
}

// call carries out a call to another host, if the way there is open, and hears the answer, if the way back is.
func (y *lossy) call(to raft.ServerAddress, do func() error) error {
	a := netip.MustParseAddr(string(to))
	l := y.host.lan
	l.mu.Lock()
	other := l.hosts[a]
	up := other != nil && other.node != nil
	var trans *raft.InmemTransport
	var taker *process
	if up {
		trans, taker = other.inmem, other.proc
	}
	l.mu.Unlock()
	if !up || y.proc.dead.Load() || !l.path(y.host.self, a) {
		time.Sleep(10 * time.Millisecond)
		if up && other.isFrozen() {
			time.Sleep(l.heartbeat) // its kernel has taken the call
		}
		return errCut
	}
	y.Connect(to, trans)
	if err := do(); err != nil {
		return err
	}
	if y.proc.dead.Load() || taker.dead.Load() || !l.path(a, y.host.self) {
		time.Sleep(l.heartbeat)
		return errCut
	}
	return nil
}

// LocalAddr has a port, as the one of a wire has.
func (y *lossy) LocalAddr() raft.ServerAddress { return y.InmemTransport.LocalAddr() + ":9646" }

func (y *lossy) AppendEntries(id raft.ServerID, to raft.ServerAddress, args *raft.AppendEntriesRequest, resp *raft.AppendEntriesResponse) error {
	if !y.proc.dead.Load() {
		y.host.lan.leads(args.Term, raft.ServerID(args.ID))
	}
	err := y.call(to, func() error { return y.InmemTransport.AppendEntries(id, to, args, resp) })
	if err == nil {
		y.host.lan.acked.Add(1)
	}
	return err
}

func (y *lossy) RequestVote(id raft.ServerID, to raft.ServerAddress, args *raft.RequestVoteRequest, resp *raft.RequestVoteResponse) error {
	req := *args
	err := y.call(to, func() error { return y.InmemTransport.RequestVote(id, to, &req, resp) })
	if err == nil && resp.Granted {
		y.host.lan.voted(args.Term, id, raft.ServerID(args.ID))
	}
	return err
}

func (y *lossy) RequestPreVote(id raft.ServerID, to raft.ServerAddress, args *raft.RequestPreVoteRequest, resp *raft.RequestPreVoteResponse) error {
	return y.call(to, func() error { return y.InmemTransport.RequestPreVote(id, to, args, resp) })
}

func (y *lossy) TimeoutNow(id raft.ServerID, to raft.ServerAddress, args *raft.TimeoutNowRequest, resp *raft.TimeoutNowResponse) error {
	return y.call(to, func() error { return y.InmemTransport.TimeoutNow(id, to, args, resp) })
}

// watch looks at every millisecond of virtual time until the end of d. It returns for how long nobody answered, and fails
// when two did.
func (l *lan) watch(d time.Duration) (silent time.Duration) {
	l.t.Helper()
	const step = time.Millisecond
	for end := time.Now().Add(d); time.Now().Before(end); time.Sleep(step) {
		if len(l.answering()) == 0 {
			silent += step
		}
	}
	return silent
}

// answering lists who answers now, and fails when two do.
func (l *lan) answering() []*host {
	l.t.Helper()
	var out []*host
	for _, h := range l.hosts {
		if h.elector != nil && h.answers() {
			out = append(out, h)
		}
	}
	if len(out) > 1 {
		for _, h := range out {
			l.t.Log(h.self, "answers; voters:", h.node.cluster.voters(), "until", h.granted, h.decisions)
		}
		require.FailNow(l.t, "two nodes answer at "+time.Now().String())
	}
	return out
}

// await waits for a holder, and says how long it took.
func (l *lan) await(limit time.Duration) (*host, time.Duration) {
	l.t.Helper()
	began := time.Now()
	for time.Since(began) < limit {
		if a := l.answering(); len(a) == 1 {
			return a[0], time.Since(began)
		}
		time.Sleep(time.Millisecond)
	}
	require.Fail(l.t, "no holder in "+limit.String())
	return nil, 0
}

// bootAll starts every host.
func (l *lan) bootAll() {
	for i := range len(l.hosts) {
		l.hosts[addr(i)].boot()
	}
}

// settle starts every host, and returns when they have a holder and know each other well.
func (l *lan) settle() {
	l.bootAll()
	l.await(5 * time.Second)
	time.Sleep(3 * time.Second)
}

func (l *lan) stopAll() {
	for _, h := range l.hosts {
		if h.node != nil {
			h.freeze(false)
			h.stop()
		}
	}
	l.wg.Wait()
}
