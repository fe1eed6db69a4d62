package daemon

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"os"
	"slices"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/keepvip/keepvip/election"
	"github.com/keepvip/keepvip/election/raft"
	"github.com/keepvip/keepvip/internal/base/code"
	"github.com/keepvip/keepvip/internal/base/nudge"
	"github.com/keepvip/keepvip/internal/base/printable"
	"github.com/keepvip/keepvip/internal/config"
	"github.com/keepvip/keepvip/internal/serve/instance"
)

// ErrNoRaft answers whoever asks for a cluster where there is none.
var ErrNoRaft = errors.New("no virtual address here is elected by raft")

// raftNode is this process's part in a Raft cluster. It joins as soon as one of raft.peers is an address of this machine, and
// stays until close.
type raftNode struct {
	seen    *seen
	version string // of this program
	log     *slog.Logger
	life    context.Context // ends when the daemon begins to. It is set before the instances begin
	renewed nudge.Signal    // says that the configuration is another one
	again   time.Duration   // after that a change of the membership that failed is tried again

	mu       sync.Mutex // guards what follows
	cfg      *config.Config
	identity raft.Identity
	secrets  [][]byte
	node     *raft.Node
	cancel   context.CancelFunc
	ended    chan struct{}
	lists    chan []netip.Addr // capacity 1: the newest raft.peers, which the membership is to follow
	said     string            // why it could not be opened, as far as the log has it
}

func newRaftNode(s *seen, version string, log *slog.Logger) *raftNode {
	return &raftNode{seen: s, version: version, log: log, life: context.Background(), renewed: nudge.New(), again: membersAgain}
}

// prepare checks what a configuration needs with its keys, and returns what takes it over, which cannot fail.
func (r *raftNode) prepare(cfg *config.Config, s secrets) (use func(), err error) {
	identify := func() {}
	if len(cfg.ByRaft()) > 0 {
		if identify, err = r.prepareIdentity(s); err != nil {
			return nil, err
		}
	}
	return func() { r.use(cfg, identify) }, nil
}

func (r *raftNode) use(cfg *config.Config, identify func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	identify()
	r.cfg = cfg
	r.renewed.Send()
	if r.node == nil {
		return
	}
	r.node.Expect(namesOf(cfg.ByRaft()))
	if len(cfg.ByRaft()) == 0 || len(cfg.Raft.Peers) == 0 {
		return // this node is about to leave, and the others go on without it
	}
	select {
	case <-r.lists: // nobody has begun to follow it
	default:
	}
	r.lists <- cfg.Raft.Peers
}

// prepareIdentity makes what the other members are shown, the newest key or the certificate files. The lock is held when
// what it returns is called.
func (r *raftNode) prepareIdentity(s secrets) (use func(), err error) {
	if s.stays {
		return func() {}, nil
	}
	next := s.raft
	var secrets [][]byte
	if next == nil {
		next = &raft.Identity{}
		for _, k := range s.keys {
			secrets = append(secrets, k.Bytes)
		}
		if err := next.UseKeys(secrets...); err != nil {
			return nil, err
		}
	}
	return func() {
		if secrets != nil && slices.EqualFunc(secrets, r.secrets, slices.Equal) {
			return // a new certificate of the same key would close every connection
		}
		r.secrets = secrets
		if r.identity.Become(next) && r.node != nil {
			r.node.IdentityChanged()
		}
	}, nil
}

// follow makes the cluster's members what each reload makes of the list, until ctx ends, and tries again where that fails. It takes no lock:
// without a majority a change waits. A cluster that has not begun begins with the newest list.
func (r *raftNode) follow(ctx context.Context, n *raft.Node, is []netip.Addr, lists <-chan []netip.Addr) {
	want, said := is, map[netip.Addr]string{}
	var again <-chan time.Time
	for {
		select {
		case <-ctx.Done():
			return
		case want = <-lists:
			clear(said)
			if !n.SetPeers(want) {
				is = want
			}
		case <-again:
		}
		is, again = r.changeMembers(ctx, n, is, want, said), nil
		if !sameMembers(is, want) {
			again = time.After(r.again)
		}
	}
}

// changeMembers lets in what is wanted and was not on the list before, and the reverse, and returns the list as far as the members follow it. The
// end of the daemon does not wait for a majority. Why a change fails is logged once.
func (r *raftNode) changeMembers(ctx context.Context, n *raft.Node, is, want []netip.Addr, said map[netip.Addr]string) []netip.Addr {
	ctx, cancel := context.WithTimeout(ctx, memberTime)
	defer cancel()
	defer context.AfterFunc(r.life, cancel)()
	change := func(op string, list, in []netip.Addr) (done []netip.Addr) {
		for _, a := range list {
			if slices.Contains(in, a) {
				continue
			}
			err := n.Change(ctx, op, a)
			if err == nil {
				done = append(done, a)
			} else if text := err.Error(); said[a] != text {
				said[a] = text
				r.log.Warn("the raft membership does not follow the list; keepvip tries again", "step", op, "member", a.String(), "error", err)
			}
		}
		return done
	}
	added, gone := change(raft.OpAdd, want, is), change(raft.OpRemove, is, want)
	return append(slices.DeleteFunc(slices.Clone(is), func(a netip.Addr) bool { return slices.Contains(gone, a) }), added...)
}

func sameMembers(a, b []netip.Addr) bool {
	in := func(list []netip.Addr) func(netip.Addr) bool {
		return func(a netip.Addr) bool { return !slices.Contains(list, a) }
	}
	return !slices.ContainsFunc(a, in(b)) && !slices.ContainsFunc(b, in(a))
}

// memberTime bounds a change of the membership.
const memberTime = 8 * time.Second

// membersAgain is after how long a change of the membership that failed is tried again: nothing waits for it but the list.
const membersAgain = 30 * time.Second

// open joins the cluster, if this node has not yet.
func (r *raftNode) open() (*raft.Node, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case r.node != nil:
		return r.node, nil
	case r.cfg == nil || len(r.cfg.ByRaft()) == 0:
		return nil, ErrNoRaft
	}
	c := r.cfg.Raft
	self, ok := r.seen.now().own.among(c.Peers)
	if !ok {
		return nil, fmt.Errorf("none of raft.peers (%s) is an address of this node", printable.List(c.Peers))
	}
	name, _ := os.Hostname() // a node without a name is known by its address
	n, err := raft.Open(raft.Config{
		Node: name, Software: r.version,
		Self: self, Port: r.cfg.Port, Peers: c.Peers, Witnesses: c.Witnesses, Heartbeat: c.HeartbeatTimeout,
		RemoveDead: c.RemoveDeadAfter, Stopping: func() bool { return r.life.Err() != nil }, Dir: r.cfg.StateDir, Identity: &r.identity, Log: r.log,
	})
	if errors.Is(err, unix.EADDRINUSE) {
		err = &code.Error{Code: code.RaftUnheard, Err: err}
	}
	if err != nil {
		r.say(err)
		return nil, err
	}
	if r.said != "" {
		r.log.Info("the listener of the raft cluster is open now")
		r.said = ""
	}
	n.Expect(namesOf(r.cfg.ByRaft()))
	ctx, cancel := context.WithCancel(context.Background())
	ended, lists := make(chan struct{}), make(chan []netip.Addr, 1)
	r.node, r.cancel, r.ended, r.lists = n, cancel, ended, lists
	go func() {
		defer close(ended)
		var beside sync.WaitGroup
		beside.Go(func() { r.follow(ctx, n, c.Peers, lists) })
		n.Run(ctx)
		beside.Wait()
	}()
	return n, nil
}

// say logs why this node does not join, once for each reason. The caller holds the lock.
func (r *raftNode) say(err error) {
	var coded *code.Error
	if text := err.Error(); errors.As(err, &coded) && text != r.said {
		r.said = text
		r.log.Warn("this node cannot take part in the raft cluster; keepvip tries again", "code", string(coded.Code), "error", err, "remedy", coded.Code.Entry().Remedy)
	}
}

// keepTrying joins also where no virtual address can be held, as on a witness in another network. Once it has, and where nothing is elected by Raft, it
// waits for another configuration: the node may have left for want of an entry, and nobody else joins on a witness.
func (r *raftNode) keepTrying(ctx context.Context) {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for ctx.Err() == nil {
		_, err := r.open()
		again := tick.C // why it cannot be opened is shown by the instances
		if err == nil || errors.Is(err, ErrNoRaft) {
			again = nil
		}
		select {
		case <-again:
		case <-r.renewed:
		case <-ctx.Done():
		}
	}
}

// close leaves the cluster in order. Its electors have to be done.
func (r *raftNode) close() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.node == nil {
		return
	}
	r.cancel()
	<-r.ended
	r.node = nil
}

// closeIdle leaves when nothing is elected by raft any more.
func (r *raftNode) closeIdle() {
	r.mu.Lock()
	idle := len(r.cfg.ByRaft()) == 0
	r.mu.Unlock()
	if idle {
		r.close()
	}
}

func (r *raftNode) current() *raft.Node {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.node
}

func namesOf(vips []config.VIP) []string {
	var out []string
	for _, v := range vips {
		out = append(out, v.Name)
	}
	return out
}

// byRaft is an elector of the cluster that follows the configuration.
type byRaft struct{ *raft.Elector }

// Adjust implements instance.Adjuster.
func (e byRaft) Adjust(in *instance.Config, _ instance.Place) { e.SetPriority(topPriority(in.VIP)) }

func (b *builder) electByRaft(in *instance.Config, _ instance.Place) (election.Elector, func(), error) {
	n, err := b.raft.open()
	if err != nil {
		return nil, nil, err
	}
	v := in.VIP
	return byRaft{n.NewElector(v.Name, v.First(), topPriority(v), b.log.With("vip", v.Name))}, func() {}, nil
}

func leaseByRaft(_ config.VIP, whole *config.Config) (time.Duration, instance.Outages) {
	lease := raft.LeaseLength(whole.Raft.HeartbeatTimeout)
	return lease, outagesByRaft(whole.Raft.HeartbeatTimeout, lease)
}
