package raft

import (
	"context"
	"log/slog"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"github.com/keepvip/keepvip/election"
	"github.com/keepvip/keepvip/internal/base/code"
	"github.com/keepvip/keepvip/internal/base/nudge"
)

// Elector elects for one virtual address: it is Active while this node leads, its lease is valid, and it is not out.
type Elector struct {
	node  *Node
	name  string     // of the virtual address
	group netip.Addr // as in NewElector
	log   *slog.Logger

	apply   func(election.Decision) error
	backoff election.BindBackoff
	nudged  nudge.Signal
	stills  chan still // an operator wants it to stand still
	timer   *time.Timer
	stirred nudge.Signal // a member is another to those that spread
	longer  nudge.Signal // the lease may have become longer
	waits   atomic.Bool  // for a lease
	holds   atomic.Bool  // the address may be bound

	own
	shown
	moves moves
}

// own is what this node is for one virtual address.
type own struct {
	mu      sync.Mutex // guards what follows
	fitness election.Fitness
	base    uint8
	spread  *election.Spread // nil: it does not spread
	worse   string           // why it comes last for a while; empty when it does not
	apart   election.Unreached
}

// shown is what an elector has found, for others to see.
type shown struct {
	mu     sync.Mutex // guards what follows
	status election.Status
}

var (
	_ election.Elector  = (*Elector)(nil)
	_ election.Extender = (*Elector)(nil)
	_ election.Visitor  = (*Elector)(nil)
)

// NewElector makes an elector of the node for the virtual address of that name. group is the first of the addresses, by
// which members that spread them know them; the zero Addr: none does. priority, 1 to 254, holds while the node is fit.
func (n *Node) NewElector(name string, group netip.Addr, priority uint8, log *slog.Logger) *Elector {
	return &Elector{
		node: n, name: name, group: group, log: log, own: own{base: priority}, timer: time.NewTimer(0), nudged: nudge.New(), longer: nudge.New(), stirred: nudge.New(), stills: make(chan still),
		shown: shown{status: election.Status{Reason: "not started", Priority: priority}}, moves: moves{node: n},
	}
}

// SetFitness implements election.Elector.
func (e *Elector) SetFitness(f election.Fitness) {
	e.own.mu.Lock()
	old := e.fitness
	e.fitness = f
	e.own.mu.Unlock()
	e.nudged.Send()
	if old.Out != f.Out || old.Less != f.Less {
		e.node.gossip.now()
		return
	}
	e.node.look.Send()
}

// SetProbe implements election.Elector. Leadership moves between nodes that tell each other how they are; there is no
// moment at which one of them has to look afresh.
func (e *Elector) SetProbe(func(context.Context) election.Fitness) {}

// SetPriority changes the priority of a running elector.
func (e *Elector) SetPriority(p uint8) {
	e.own.mu.Lock()
	e.base = p
	e.own.mu.Unlock()
	e.node.look.Send()
}

// fit is the fitness that counts, and the priority that it takes from.
func (o *own) fit() (election.Fitness, uint8) {
	o.mu.Lock()
	defer o.mu.Unlock()
	f := o.fitness
	if o.worse != "" && !f.Out {
		f = election.Fitness{Wait: f.Wait, Less: topPriority + 1, Reason: o.worse, Code: code.BindRefused}
	}
	return f, o.base
}

// LeaseEnd implements election.Elector.
func (e *Elector) LeaseEnd() time.Time {
	if !e.holds.Load() {
		return time.Time{}
	}
	return e.node.lease.end()
}

// Extended implements election.Extender.
func (e *Elector) Extended() <-chan struct{} { return e.longer }

// Run implements election.Elector.
func (e *Elector) Run(ctx context.Context, apply func(election.Decision) error) error {
	e.apply = apply
	e.node.addresses.join(e)
	defer e.node.addresses.leave(e)
	defer e.timer.Stop()
	for {
		now := time.Now()
		e.follow(now, e.node.outlook())
		if e.state() == election.Active && e.node.cluster.alone() {
			e.longer.Send()
		}
		e.timer.Reset(time.Until(e.next(now)))
		select {
		case <-ctx.Done():
			if e.state() != election.Initialize {
				e.change(election.Decision{Role: election.Off, Reason: "shutting down", At: time.Now()})
			}
			return nil
		case <-e.nudged:
		case s := <-e.stills:
			s.wait(ctx)
		case <-e.timer.C:
		}
	}
}

// next is when there is something to do without being nudged: a look at the lease, and the end of a bind backoff.
func (e *Elector) next(now time.Time) time.Time {
	at := now.Add(time.Hour)
	if e.state() == election.Active {
		at = e.node.lease.due(now)
	}
	if r := e.backoff.Next(); !r.IsZero() && r.Before(at) {
		at = r
	}
	return at
}

// outlook is how the cluster stands, as far as it concerns the electors.
type outlook struct {
	started bool
	until   time.Time // the end of the lease
	leading bool
	leader  netip.Addr
	held    bool // by the leader, if it is another node
	trouble string
	blocked word // why no node can lead, as far as this one knows
}

func (n *Node) outlook() outlook {
	o := outlook{trouble: n.bootstrap.why()}
	if !n.cluster.started() {
		return o
	}
	o.started, o.leading, o.leader = true, n.cluster.leading() != nil, n.cluster.leader()
	if o.leading {
		o.leader = n.cfg.Self // the library may not have noted it yet
	}
	o.until, o.blocked = n.lease.end(), n.Quorum().blocked(time.Now(), n.cfg.Heartbeat)
	if why := n.disk.why(); why != "" {
		o.blocked = word{code.NoLeader, why}
	}
	o.held = n.gossip.of(o.leader).Holds
	return o
}

// follow makes this elector's state what the cluster's says.
func (e *Elector) follow(now time.Time, o outlook) {
	if e.backoff.Due(now) {
		e.comeLast()
	}
	e.waits.Store(o.leading && !now.Before(o.until))
	want, why := e.want(now, o)
	state := e.state()
	e.present(want, why, o.blocked)
	switch {
	case want != state && want == election.Active:
		e.become(why)
	case want != state:
		e.change(election.Decision{Role: election.RoleOf(want), Reason: why.text, Code: why.code, Holder: o.holder(want, e.node.cfg.Self), At: now})
	case want != election.Active && o.holder(want, e.node.cfg.Self) != e.holder():
		e.tellHolder(now, o.holder(want, e.node.cfg.Self), why)
	}
}

// holder is the leader, if it holds what it may hold: it can be out, or wait.
func (o outlook) holder(want election.State, self netip.Addr) netip.Addr {
	if want == election.Active {
		return self
	}
	if !o.held || o.leader == self {
		return netip.Addr{}
	}
	return o.leader
}

func (e *Elector) want(now time.Time, o outlook) (election.State, word) {
	f, _ := e.fit()
	switch {
	case !o.started:
		return election.Initialize, word{code.Forming, o.trouble}
	case !o.leading && o.trouble != "":
		return election.Initialize, word{code.NotAMember, o.trouble}
	case !o.leading && o.leader.IsValid():
		return election.Backup, word{code.LeaderKnown, leadsElsewhere(o.held)}
	case !o.leading && o.blocked.text != "":
		return election.Backup, o.blocked
	case !o.leading:
		return election.Backup, word{code.NoLeader, "no leader is known"}
	case f.Out:
		return election.Backup, word{code.LeaderOut, "leads, but is out: " + f.Reason}
	case e.backoff.Pausing():
		return election.Backup, word{code.BindRefused, e.backoff.Reason()}
	case f.Wait && e.state() != election.Active:
		return election.Backup, word{code.LeaderWaits, "leads, but waits: " + f.Reason}
	case !now.Before(o.until):
		return election.Backup, word{code.MajorityLost, "leads, but has no lease of a majority"}
	}
	return election.Active, word{code.Elected, "leads, and a majority follows"}
}

func leadsElsewhere(held bool) string {
	if held {
		return "another node leads"
	}
	return "another node leads, but holds no address"
}

// become has the address bound; without success this node comes last for a while.
func (e *Elector) become(why word) {
	if !e.node.lease.take(e) {
		return
	}
	now := time.Now()
	err := e.change(election.Decision{Role: election.Serve, Reason: why.text, Code: why.code, Holder: e.node.cfg.Self, At: now})
	if err == nil {
		e.backoff = election.BindBackoff{}
		e.comeLast()
		e.node.gossip.noteTaken(time.Now())
		e.node.gossip.now()
		return
	}
	e.log.Warn("resigned: the address could not be bound", "error", err)
	e.backoff.Begin(time.Now(), err, 4*e.node.cfg.Heartbeat)
	e.comeLast()
	e.change(election.Decision{Role: election.Standby, Reason: e.backoff.Reason(), Code: code.BindRefused, At: time.Now()})
	e.node.look.Send()
}

// comeLast publishes whether a bind backoff lasts.
func (e *Elector) comeLast() {
	e.own.mu.Lock()
	e.worse = e.backoff.Reason()
	e.own.mu.Unlock()
	e.node.look.Send()
}

// change has the decision carried out before anything else happens.
func (e *Elector) change(d election.Decision) error {
	d = e.moves.explained(d)
	e.shown.mu.Lock()
	e.status.State, e.status.Reason, e.status.Holder = d.Role.State(), d.Reason, d.Holder
	e.status.Present, e.status.Code = d.Reason, d.Code
	e.status.Counters.Transitions++
	if d.Role == election.Serve {
		e.status.Counters.Takeovers++
	}
	e.shown.mu.Unlock()
	err := e.apply(d)
	if d.Role != election.Serve {
		e.holds.Store(false)
		e.node.addresses.freed.Send()
	}
	return err
}

func (e *Elector) tellHolder(now time.Time, holder netip.Addr, why word) {
	d := e.moves.explained(election.Decision{Role: election.RoleOf(e.state()), Reason: why.text, Code: why.code, Holder: holder, At: now})
	e.shown.mu.Lock()
	e.status.Holder = holder
	e.shown.mu.Unlock()
	_ = e.apply(d) // only binding can fail
}

// present publishes why this node is in a state now, and why nobody can become Active.
func (s *shown) present(state election.State, why, blocked word) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if state == s.status.State && s.status.Present != why.text {
		s.status.Present, s.status.Code = why.text, why.code
	}
	s.status.Blocked, s.status.BlockedCode = blocked.text, blocked.code
}

func (s *shown) state() election.State {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.status.State
}

func (s *shown) holder() netip.Addr {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.status.Holder
}

// Status implements election.Elector.
func (e *Elector) Status() election.Status {
	f, base := e.fit()
	e.shown.mu.Lock()
	s := e.status
	e.shown.mu.Unlock()
	s.Fitness, s.Priority, s.NoSpare = f, effective(base, f), e.node.Quorum().noSpare()
	s.Counters.Rejected, s.Rejected = e.node.rejections.Counts(), e.node.rejections.List()
	s.Members = e.Members()
	s.Outside = e.outsiders(s.Holder)
	return s
}
