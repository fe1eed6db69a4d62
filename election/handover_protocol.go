package election

import (
	"context"
	"net/netip"
	"slices"
	"sync"
	"time"

	membership "github.com/keepvip/keepvip/members"
	"github.com/keepvip/keepvip/vrrp"
)

// MembersWire carries the messages of one group. A members.Hub makes wires of a real network; tests make them of memory.
type MembersWire interface {
	Send(m membership.Message) error
	Arrived() <-chan struct{}
	Take(dst []membership.Received) []membership.Received
	// Rename makes the wire carry the messages of another group.
	Rename(group netip.Addr)
	// Rejected counts what was refused, by reason.
	Rejected() map[membership.Reason]uint64
}

// MembersConfig says how a node takes part in knowing the others. Of Machine the elector sets Group, Address, Preempt,
// PreemptDelay and Lease itself.
type MembersConfig struct {
	Wire    MembersWire // the caller closes it after Run has returned
	Machine membership.Config
}

const (
	// probeTime bounds one fresh probe.
	probeTime = 2 * time.Second
	// departTime is how long a node that stops tries to pass the address on first.
	departTime = time.Second
)

// handoverProtocol joins a members.Machine to an elector, in whose goroutine it runs. The methods of a nil one do nothing:
// that is plain VRRP.
type handoverProtocol struct {
	e     *VRRP
	cfg   MembersConfig
	m     *membership.Machine
	inbox []membership.Received
	known []netip.Addr // the other members, by address
	told  membership.Self

	confirmed chan membership.Confirmed
	probes    sync.WaitGroup
	probing   context.Context // ends with Run
	stop      context.CancelFunc

	asked   chan *handover
	leaving *handover // the address is being given away because somebody wants it
	until   time.Time // of the departure; zero before it
	begun   bool      // this node is Quiet
	claims  []membership.Claimant
	refused *Rejections

	mu       sync.Mutex // guards what follows
	probe    func(context.Context) Fitness
	list     []membership.Member
	splits   []Split
	silent   []membership.Member // that were heard, and have not said good-bye
	draining bool
}

func newHandoverProtocol(e *VRRP, cfg MembersConfig) *handoverProtocol {
	x := &handoverProtocol{e: e, cfg: cfg, confirmed: make(chan membership.Confirmed), asked: make(chan *handover)}
	x.refused = NewRejectionsOf("message of a member", actOnMembers, e.log)
	x.cfg.Machine = x.machineConfig()
	x.m = membership.NewMachine(x.cfg.Machine)
	x.probing, x.stop = context.WithCancel(context.Background())
	return x
}

func (x *handoverProtocol) machineConfig() membership.Config {
	r, c := x.e.cfg.Router, x.cfg.Machine
	c.Group = r.Addresses[0] // of the family that carries the election, so the first of all
	c.Address, c.Preempt, c.PreemptDelay = x.e.source.WithZone(""), r.Preempt, r.PreemptDelay
	// Whoever has the shorter interval is the first that may answer again.
	r.Interval = min(r.Interval, x.e.machine.Snapshot().ActiveAdverInterval)
	c.Lease, c.Adverts = Lease(r), r.DownTimerAdverts
	c.Passive = x.e.cfg.GroupMember != nil // instances of a group move together, by plain VRRP
	return c
}

// end waits for the probes, and says good-bye.
func (x *handoverProtocol) end() {
	if x == nil {
		return
	}
	x.stop()
	x.finish(errStopped)
	x.step(time.Now(), membership.Leave{})
	x.probes.Wait()
}

func (x *handoverProtocol) arrived() <-chan struct{} {
	if x == nil {
		return nil
	}
	return x.cfg.Wire.Arrived()
}

func (x *handoverProtocol) results() <-chan membership.Confirmed {
	if x == nil {
		return nil
	}
	return x.confirmed
}

func (x *handoverProtocol) deadline() time.Time {
	if x == nil {
		return time.Time{}
	}
	next, _ := x.m.Deadline()
	for _, at := range []time.Time{x.until, x.leaving.deadline()} {
		if next.IsZero() || !at.IsZero() && at.Before(next) {
			next = at
		}
	}
	return next
}

func (x *handoverProtocol) receive() {
	if x == nil {
		return
	}
	inbox := x.cfg.Wire.Take(x.inbox[:0])
	x.inbox = nil // whoever takes the address takes in what has arrived, too
	for _, r := range inbox {
		x.greet(r)
		x.step(time.Now(), r)
	}
	x.inbox = inbox
}

func (x *handoverProtocol) expire(now time.Time) {
	if x == nil {
		return
	}
	if at, ok := x.m.Deadline(); ok && !now.Before(at) {
		x.step(now, membership.Expired{})
	}
	x.check(now)
}

// tell lets the machine know how this node is. It comes after everything that the elector has done, so that an Active has
// announced before it says so.
func (x *handoverProtocol) tell(now time.Time) {
	if x == nil {
		return
	}
	if c := x.machineConfig(); c != x.cfg.Machine {
		if c.Group != x.cfg.Machine.Group {
			x.cfg.Wire.Rename(c.Group)
			x.forget()
		}
		x.cfg.Machine = c
		x.step(now, membership.Reconfigure{Config: c})
	}
	if s := x.self(); s != x.told {
		x.told = s
		x.step(now, membership.SetSelf{Self: s})
	}
	x.check(now)
}

func (x *handoverProtocol) self() membership.Self {
	s, f := x.e.machine.Snapshot(), x.fitness()
	base := x.e.cfg.Router.Priority
	return membership.Self{
		State: membersState(s.State), Base: base, Priority: s.Priority,
		Fit: f.fit(effective(base, f)), Reason: f.Reason, Draining: x.drains(), For: x.leaving.wanted(),
		Claims: s.State == vrrp.Active && x.e.leaseHeld(), Router: x.router(),
	}
}

// fit tells whether a node of this fitness would be a good holder. One that is only less fit than it could be has the
// priority to say so.
func (f Fitness) fit(effective uint8) bool {
	return !f.Out && !f.Wait && (f.Less <= 0 || effective > unfitPriority)
}

// fitness is the one that the elector goes by.
func (x *handoverProtocol) fitness() Fitness {
	x.e.mu.Lock()
	defer x.e.mu.Unlock()
	return x.e.status.Fitness
}

func membersState(s vrrp.State) membership.State {
	switch s {
	case vrrp.Active:
		return membership.Active
	case vrrp.Backup:
		return membership.Backup
	default:
		return membership.Initialize
	}
}

// step gives one event to the machine and does what it asks for. What the elector does meanwhile the machine is told
// later, by tell.
func (x *handoverProtocol) step(now time.Time, ev membership.Event) {
	for _, a := range slices.Clone(x.m.Step(now, ev)) {
		if err := x.act(now, a); err != nil {
			x.e.log.Debug("the address is not passed on now", "error", err)
			x.m.Step(now, membership.Kept{})
			break
		}
	}
	x.note(now)
}

// act does what the machine asks for. An error: the address could not be passed on.
func (x *handoverProtocol) act(now time.Time, a membership.Action) error {
	switch a := a.(type) {
	case membership.Send:
		x.send(a.Message)
	case membership.Claim:
		x.claimed(a)
	case membership.Confirm:
		x.confirm(a.ID)
	case membership.Pass:
		return x.pass(now, a.Message)
	case membership.Release:
		x.release(now, a)
	case membership.Take:
		x.take(now, a.Until)
	}
	return nil
}

// send does not fail: a message that did not leave is as one that was lost.
func (x *handoverProtocol) send(m membership.Message) {
	m.Peer.Claims = m.Peer.Claims && x.e.leaseHeld() // this process may have stood still
	if err := x.cfg.Wire.Send(m); err != nil {
		x.e.log.Debug("message to the members not sent", "type", m.Type.String(), "error", err)
	}
}

// confirm makes one fresh probe beside the elector.
func (x *handoverProtocol) confirm(id uint64) {
	x.mu.Lock()
	probe := x.probe
	x.mu.Unlock()
	told := x.fitness()
	x.probes.Go(func() {
		ctx, cancel := context.WithTimeout(x.probing, probeTime)
		defer cancel()
		c := membership.Confirmed{ID: id, Fit: true}
		if probe != nil {
			f := probe(ctx)
			c.Fit = !f.Out && f.Less <= told.Less
		}
		select {
		case x.confirmed <- c:
		case <-x.probing.Done():
		}
	})
}

// pass lets the host stop answering, and then grants. A node that was frozen, or that is not Active any more, has
// nothing to grant. A host that cannot stop soon remains the holder: until the GRANT left, nobody would take the address in
// time, and whoever wants it asks again.
func (x *handoverProtocol) pass(now time.Time, grant membership.Message) error {
	if x.e.machine.Snapshot().State != vrrp.Active {
		return nil
	}
	quiet := Decision{
		Role: Quiet, Reason: string(vrrp.ReasonPassedOn), Cause: x.e.cause(Active, x.e.holder), Holder: x.e.heardHolder(now), At: now,
	}
	if err := x.e.apply(quiet); err != nil {
		return err
	}
	x.e.step(now, vrrp.PassOn{})
	if !x.begun {
		return nil
	}
	x.e.count(func(c *Counters) { c.PassedOn++ })
	x.send(grant)
	return nil
}

// changed follows a change of the elector's state, and tells whether pass has had it carried out already.
func (x *handoverProtocol) changed(reason string) bool {
	if x == nil {
		return false
	}
	x.begun = reason == string(vrrp.ReasonPassedOn)
	return x.begun
}

// release ends what pass has begun, unless another change of state has done so.
func (x *handoverProtocol) release(now time.Time, r membership.Release) {
	if !x.begun {
		return
	}
	x.begun = false
	reason := "the next node has announced the address"
	if !r.Heard {
		reason = "the next node was given time enough"
	}
	_ = x.e.apply(Decision{Role: Standby, Reason: reason, Holder: r.To, At: now})
	x.e.noteHolder(now)
}

// passes tells whether the host has begun to pass the address on, and not let go of it.
func (x *handoverProtocol) passes() bool { return x != nil && x.begun }

// take first takes in what the former Active has sent before it granted: its last advertisement must not look like a
// rival's. This process may stand still over that: the clock has the last word.
func (x *handoverProtocol) take(now, until time.Time) {
	x.note(now) // the host looks at the members
	x.e.wire.Drain()
	x.e.receive()
	before, now := x.e.machine.Snapshot().State, time.Now()
	if !now.Before(until) {
		x.e.log.Debug("what was granted is not taken: it may have been taken back", "late", now.Sub(until))
		return
	}
	x.e.step(now, vrrp.Granted{})
	if before == vrrp.Backup && x.e.machine.Snapshot().State == vrrp.Active {
		x.e.count(func(c *Counters) { c.Granted++ })
	}
	x.e.noteHolder(now)
}

// defers tells whether the Active of lower priority that source is should be followed for now.
func (x *handoverProtocol) defers(now time.Time, source netip.Addr) bool {
	return x != nil && x.m.Defers(now, source)
}

// note keeps what the machine knows of the members, for status and for the spread.
func (x *handoverProtocol) note(now time.Time) {
	list := x.m.Members(now)
	known := make([]netip.Addr, len(list))
	for i, m := range list {
		known[i] = m.Address
	}
	x.noteSilent(now, list)
	x.noteClaims(now)
	if !slices.Equal(known, x.known) {
		x.known = known
		x.e.applyTieBreakDelay(now)
	}
}

// addresses are those of the other members, for the rank among them.
func (x *handoverProtocol) addresses() []netip.Addr {
	if x == nil {
		return nil
	}
	return x.known
}

// SetProbe implements Elector.
func (e *VRRP) SetProbe(probe func(context.Context) Fitness) {
	if e.x == nil {
		return
	}
	e.x.mu.Lock()
	defer e.x.mu.Unlock()
	e.x.probe = probe
}

// SetDraining says whether this node drains the connections that came through it after it has passed the address on: the
// others are told before, so that the next node knows from the beginning. Safe from any goroutine.
func (e *VRRP) SetDraining(draining bool) {
	if e.x == nil {
		return
	}
	e.x.mu.Lock()
	e.x.draining = draining
	e.x.mu.Unlock()
	e.wake()
}

func (x *handoverProtocol) drains() bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.draining
}
