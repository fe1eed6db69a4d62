package election

import (
	"context"
	"fmt"
	"log/slog"
	"net/netip"
	"slices"
	"sync"
	"time"

	"github.com/keepvip/keepvip/vrrp"
)

// unfitPriority is what a node advertises that would rather not be Active: the lowest that is not a
// resignation, so that it comes last in every election and yields to anybody fitter.
const unfitPriority = 1

// ownerPriority is the address owner's, which becomes Active without an election (RFC 9568 section 6.4.1).
const ownerPriority = 255

// VRRPConfig describes one Virtual Router.
type VRRPConfig struct {
	Router vrrp.Config
	// Peers are the other nodes when they are known by configuration; the own address may be among
	// them. They feed the rank that breaks ties.
	Peers []netip.Addr
	// Members lets the node know the others, and pass the address on; nil: plain VRRP alone.
	Members *MembersConfig
	// GroupMember is the instance as one of a group; nil: it moves alone. With one, Router.Grouped is set.
	GroupMember *GroupMember
}

// VRRP elects by VRRP advertisements (RFC 9568, RFC 3768).
type VRRP struct {
	cfg    VRRPConfig
	source netip.Addr // own address; never changes
	wire   Wire
	log    *slog.Logger

	machine *vrrp.Machine
	members members
	apply   func(Decision) error
	timer   *time.Timer
	due     time.Time // when the timer is due
	backoff BindBackoff
	inbox   []Arrival
	holder  netip.Addr
	lines   Lines
	told    time.Time // when the last change of the holder alone was reported
	untold  time.Time // when the next one is due; zero for none
	failed  error     // the last bind's error while an event is being handled
	out     bool
	waits   bool
	x       *handoverProtocol // nil: plain VRRP alone

	fitted  chan struct{}    // capacity 1: fitness has changed
	changes chan vrrp.Config // capacity 1: a live change of configuration

	mu       sync.Mutex // guards what follows
	fitness  Fitness
	status   Status
	leaseEnd time.Time
	lag      timerLag
}

var _ Elector = (*VRRP)(nil)

// NewVRRP makes an elector on wire, which the caller closes after Run has returned.
func NewVRRP(cfg VRRPConfig, wire Wire, log *slog.Logger) (*VRRP, error) {
	cfg.Router.Grouped = cfg.GroupMember != nil
	m, err := vrrp.NewMachine(cfg.Router)
	if err != nil {
		return nil, fmt.Errorf("election: %w", err)
	}
	e := &VRRP{
		cfg: cfg, source: cfg.Router.Source, wire: wire, log: log, machine: m,
		fitted: make(chan struct{}, 1), changes: make(chan vrrp.Config, 1),
	}
	e.status = Status{Reason: "not started", Priority: cfg.Router.Priority}
	if cfg.Members != nil {
		e.x = newHandoverProtocol(e, *cfg.Members)
	}
	return e, nil
}

// SetFitness implements Elector.
func (e *VRRP) SetFitness(f Fitness) {
	e.mu.Lock()
	e.fitness = f
	e.mu.Unlock()
	e.wake()
}

// wake makes the elector look at its fitness, and at its group, again.
func (e *VRRP) wake() {
	select {
	case e.fitted <- struct{}{}:
	default:
	}
}

// Reconfigure changes what can change without a new election: priority, interval, preemption and the
// advertised addresses. The newest counts.
func (e *VRRP) Reconfigure(cfg vrrp.Config) {
	for {
		select {
		case e.changes <- cfg:
			return
		default:
		}
		select {
		case <-e.changes:
		default:
		}
	}
}

// Run implements Elector.
func (e *VRRP) Run(ctx context.Context, apply func(Decision) error) error {
	e.apply = apply
	e.timer = time.NewTimer(time.Hour)
	defer e.timer.Stop()
	if s := e.cfg.GroupMember; s != nil {
		s.join(e.wake)
		defer s.leave()
	}
	e.applyTieBreakDelay(time.Now())
	e.applyFitness(time.Now())
	if e.out {
		_ = e.apply(Decision{Role: Off, Reason: e.status.Fitness.Reason, At: time.Now()})
	}
	defer e.x.end()
	done := ctx.Done()
	for {
		e.consult()
		e.x.tell(time.Now())
		if done == nil && e.x.departed(time.Now()) {
			e.step(time.Now(), vrrp.Shutdown{})
			return nil
		}
		e.arm()
		select {
		case <-done:
			done = nil
			e.x.depart(time.Now(), context.Cause(ctx))
		case <-e.x.arrived():
			e.x.receive()
		case c := <-e.x.results():
			e.x.step(time.Now(), c)
		case r := <-e.x.wishes():
			e.x.wish(time.Now(), r)
		case <-e.fitted:
			e.refit()
		case cfg := <-e.changes:
			e.applyConfig(cfg)
		case <-e.wire.Arrived():
			e.receive()
		case <-e.timer.C:
			e.noteLate()
			e.expire()
		}
	}
}

// arm sets the one timer to the next thing to do.
func (e *VRRP) arm() {
	next, ok := e.machine.Deadline()
	if !ok || e.waiting() {
		next = e.idleUntil(time.Now())
	}
	for _, at := range []time.Time{e.backoff.Next(), e.x.deadline(), e.untold} {
		if !at.IsZero() && at.Before(next) {
			next = at
		}
	}
	e.due = next
	e.timer.Reset(time.Until(next))
}

// noteLate keeps by how much the timer was served late: what a loaded machine takes from an election.
func (e *VRRP) noteLate() {
	now := time.Now()
	e.mu.Lock()
	defer e.mu.Unlock()
	e.lag.note(now, now.Sub(e.due))
}

// idleUntil is when a node that takes no part has to look again whether the holder is still heard.
func (e *VRRP) idleUntil(now time.Time) time.Time {
	if at, ok := e.members.silentAt(e.holder); ok && at.After(now) {
		return at
	}
	return now.Add(time.Hour)
}

// expire first takes in what has arrived: a starved process must not take its own lag for the
// other node's death.
func (e *VRRP) expire() {
	e.wire.Drain()
	e.receive()
	now := time.Now()
	if e.backoff.Due(now) {
		e.applyFitness(now)
	}
	if !e.waiting() {
		e.step(now, vrrp.Expired{})
	}
	e.noteHolder(now)
	e.x.expire(now)
}

// receive takes in what members say first: an Active tells them that it wants to pass the address on before it advertises a
// lower priority.
func (e *VRRP) receive() {
	e.x.receive()
	e.receiveAdverts()
}

func (e *VRRP) receiveAdverts() {
	inbox := e.wire.Take(e.inbox[:0])
	e.inbox = nil // an advertisement may make this node look at what has come in since
	for _, a := range inbox {
		e.hear(a)
	}
	e.inbox = inbox
	if len(inbox) > 0 {
		e.noteHolder(time.Now())
		e.x.check(time.Now())
	}
}

func (e *VRRP) hear(a Arrival) {
	adv := a.Advertisement
	if err := e.cfg.Router.Check(a.Source, adv); err != nil {
		e.wire.Rejections().Add(a.Source, reasonOf(err), err)
		return
	}
	before := len(e.members.list)
	e.x.hear(a)
	e.members.hear(a.Source, adv.Priority, e.silence(a), a.At)
	if len(e.members.list) != before {
		e.applyTieBreakDelay(a.At)
	}
	e.compare(a)
	e.count(func(c *Counters) { c.Received++ })
	now := time.Now()
	e.step(now, vrrp.Received{Source: a.Source, Advertisement: adv, Age: now.Sub(a.At), Deferred: e.x.defers(now, a.Source)})
}

// applyTieBreakDelay tells the machine how ties are broken, now that more is known about the others.
func (e *VRRP) applyTieBreakDelay(now time.Time) {
	r := e.cfg.Router
	offset := TieBreakDelay(e.source, e.others(), r.Interval)
	if !equals(r.Priority, e.members.report(nil, now)) {
		offset /= amongOthers
	}
	e.step(now, vrrp.SetTieBreakDelay{Offset: offset})
}

func (e *VRRP) others() []netip.Addr {
	var out []netip.Addr
	for _, p := range slices.Concat(e.cfg.Peers, e.x.addresses()) {
		if p != e.source && !slices.Contains(out, p) {
			out = append(out, p)
		}
	}
	return out
}

// waiting tells whether this Backup must not become Active yet, whatever its timer says.
func (e *VRRP) waiting() bool { return e.waits && e.machine.Snapshot().State == vrrp.Backup }

// cannotWait tells whether this node would become Active without being a Backup first, or with others that do not wait.
func (e *VRRP) cannotWait() bool {
	return e.machine.Snapshot().State != vrrp.Active && (e.cfg.GroupMember != nil || e.cfg.Router.Priority == ownerPriority)
}

// refit takes over a new fitness. A wait that is over may have outlasted the timer.
func (e *VRRP) refit() {
	waited := e.waiting()
	e.applyFitness(time.Now())
	if waited && !e.waiting() {
		e.expire()
	}
}

// applyFitness moves the machine to the newest fitness.
func (e *VRRP) applyFitness(now time.Time) {
	e.mu.Lock()
	f := e.backoff.Worsen(e.fitness)
	e.mu.Unlock()
	f.Out = f.Out || e.backoff.Pausing() || f.Wait && e.cannotWait()
	f = e.x.worsen(f)
	if e.cfg.GroupMember != nil {
		f = e.cfg.GroupMember.fit(f)
	}
	e.mu.Lock()
	e.status.Fitness = f
	e.mu.Unlock()
	e.out, e.waits = f.Out, f.Wait
	if e.out {
		e.step(now, vrrp.Shutdown{})
		return
	}
	e.step(now, vrrp.SetPriority{Priority: effective(e.cfg.Router.Priority, f)})
	e.step(now, vrrp.Startup{}) // counts only for a machine that is not started
}

// effective is the priority that a node of this fitness advertises. 255 is the owner's alone, and an
// owner that is unfit is no owner.
func effective(base uint8, f Fitness) uint8 {
	if f.Less <= 0 {
		return base
	}
	return uint8(min(max(int(base)-f.Less, unfitPriority), 254))
}

func (e *VRRP) applyConfig(cfg vrrp.Config) {
	cfg.Grouped = e.cfg.GroupMember != nil
	e.cfg.Router = cfg
	e.wire.SetAddresses(cfg.Addresses)
	now := time.Now()
	e.step(now, vrrp.Reconfigure{Config: cfg})
	e.applyTieBreakDelay(now)
	e.applyFitness(now)
}
