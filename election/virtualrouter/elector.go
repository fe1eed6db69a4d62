package virtualrouter

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"reflect"
	"slices"
	"sync"
	"time"

	"github.com/keepvip/keepvip/election"
	"github.com/keepvip/keepvip/internal/base/alarm"
	"github.com/keepvip/keepvip/internal/base/worst"
	"github.com/keepvip/keepvip/members"
	"github.com/keepvip/keepvip/vrrp"
)

// Elector elects by VRRP advertisements (RFC 9568, RFC 3768), and passes the address on by the members' protocol. It is the loop around a
// machine: it waits for what happens, and carries out what the machine asks for.
type Elector struct {
	cfg   Config
	wire  Wire
	log   *slog.Logger
	apply func(election.Decision) error

	alarm alarm.Alarm
	came  <-chan time.Time // of the alarm
	due   time.Time        // when it is to come
	inbox []Arrival
	mail  []members.Received

	voices   []Voice
	listened time.Time // when the newest of the voices that were taken was heard

	fitted  chan struct{}        // capacity 1: fitness has changed, or the group, or something was posted
	asked   chan event           // what somebody waits for
	stirred chan struct{}        // capacity 1: a member is another to those that spread
	ended   chan struct{}        // closed when Run returns
	refused *election.Rejections // of the members' messages

	unsent bool // the kernel has refused the newest advertisement; belongs to Run

	mu       sync.Mutex // guards what follows
	machine  *machine
	posted   []event // of each kind the newest
	fitness  election.Fitness
	probe    func(context.Context) election.Fitness
	leaseEnd time.Time
	lag      worst.Lately
}

var (
	_ election.Elector    = (*Elector)(nil)
	_ election.Questioner = (*Elector)(nil)
	_ election.Visitor    = (*Elector)(nil)
)

// New makes an elector on wire, which the caller closes after Run has returned.
func New(cfg Config, wire Wire, log *slog.Logger) (*Elector, error) {
	m, err := newMachine(cfg)
	if err != nil {
		return nil, fmt.Errorf("election: %w", err)
	}
	if cfg.Members != nil && cfg.Members.Pulse != nil && cfg.Lifeline == nil {
		return nil, errUnasked
	}
	return &Elector{
		cfg: cfg, wire: wire, log: log, machine: m, refused: election.NewRejections("message of a member", actOnMembers, log).Name(memberCodeOf),
		fitted: make(chan struct{}, 1), asked: make(chan event), stirred: make(chan struct{}, 1), ended: make(chan struct{}),
	}, nil
}

// errUnasked: who finds that a node is gone asks for the address before it takes over.
var errUnasked = errors.New("election: a Pulse without a Lifeline, by which the address is asked for")

// SetFitness implements Elector.
func (e *Elector) SetFitness(f election.Fitness) {
	e.mu.Lock()
	e.fitness = f
	e.mu.Unlock()
	e.wake()
}

// post has the elector take ev in soon. One of its kind that still waits is replaced. A channel for each kind, and a place in the queue of
// each, would cost hundreds of electors more than all else that they remember.
func (e *Elector) post(ev event) {
	kind := reflect.TypeOf(ev)
	e.mu.Lock()
	e.posted = append(slices.DeleteFunc(e.posted, func(o event) bool { return reflect.TypeOf(o) == kind }), ev)
	e.mu.Unlock()
	e.wake()
}

// takePosted takes in what was posted, after the newest fitness.
func (e *Elector) takePosted(probes *probes) {
	e.mu.Lock()
	fitness, posted := e.fitness, e.posted
	e.posted = nil
	e.mu.Unlock()
	e.step(probes, refit{fitness})
	for _, ev := range posted {
		if c, ok := ev.(change); ok {
			e.wire.SetAddresses(c.Addresses)
			e.cfg.Router, e.cfg.Bound = c.Config, c.bound
			ev = c.reconfigure
		}
		e.step(probes, ev)
	}
}

// wake makes the elector look at its fitness, at its group, and at what was posted, again.
func (e *Elector) wake() {
	select {
	case e.fitted <- struct{}{}:
	default:
	}
}

// SetProbe implements Elector.
func (e *Elector) SetProbe(probe func(context.Context) election.Fitness) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.probe = probe
}

// SetDraining says whether this node drains the connections that came through it after it has passed the address on: the
// others are told before, so that the next node knows from the beginning. Safe from any goroutine.
func (e *Elector) SetDraining(draining bool) { e.post(setDraining{draining}) }

// Reconfigure changes what can change without a new election: priority, interval, preemption and the
// advertised addresses, with how many are bound (Config.Bound), and members.Config.SpreadEvery. The newest counts.
func (e *Elector) Reconfigure(cfg vrrp.Config, bound int, spreadEvery time.Duration) {
	e.post(change{reconfigure{cfg, spreadEvery}, bound})
}

// change is a live change of configuration.
type change struct {
	reconfigure
	bound int
}

// Handover passes the address on to the node of that name or address, or with an empty one to whoever is fit. It returns
// when the other node has it; or ErrNotActive, ErrNoTaker, or, when ctx has ended, ErrTimeout. The address stays here
// then. Safe from any goroutine.
func (e *Elector) Handover(ctx context.Context, to string) error {
	if e.cfg.Members == nil {
		return fmt.Errorf("%w: the port for members is switched off", election.ErrNoTaker)
	}
	h := &handover{to: to, done: make(chan error, 1)}
	h.code, h.reason = election.HandoverReason(ctx, to)
	if end, ok := ctx.Deadline(); ok {
		h.end = end
	}
	select {
	case e.asked <- want{h}:
		return h.await(ctx, e.asked)
	case <-ctx.Done():
		return election.ErrTimeout
	case <-e.ended:
		return errStopped
	}
}

// Run implements Elector.
func (e *Elector) Run(ctx context.Context, apply func(election.Decision) error) error {
	e.apply = apply
	e.alarm = e.newAlarm()
	came, stop := alarm.Hand(e.alarm)
	defer stop()
	e.came = came
	if g := e.cfg.GroupMember; g != nil {
		g.join(e.wake)
		defer g.leave()
	}
	defer close(e.ended)
	probes := newProbes(e.asked)
	defer probes.end()
	e.step(probes, begin{e.newestFitness()})
	for stopping := ctx.Done(); !e.machine.ended; {
		e.arm()
		select {
		case <-stopping:
			stopping = nil
			e.step(probes, stopOf(context.Cause(ctx)))
		case <-e.mailed():
			e.step(probes, arrived{Messages: e.messages()})
		case ev := <-e.asked:
			if s, ok := ev.(still); ok {
				e.standStill(ctx, probes, s)
				continue
			}
			e.step(probes, ev)
		case <-e.fitted:
			e.takePosted(probes)
		case <-e.wire.Arrived():
			e.step(probes, arrived{Messages: e.messages(), Adverts: e.adverts()})
		case <-e.came:
			if time.Now().Before(e.due) {
				continue // it was handed over before something else was due
			}
			e.noteLate()
			e.look(probes)
		}
	}
	return nil
}

// look takes in everything that has arrived, and then does what is due.
func (e *Elector) look(probes *probes) {
	e.wire.Drain(e.due)
	e.step(probes, expired{arrived{Messages: e.messages(), Adverts: e.adverts()}, e.beat()})
}

// newAlarm is one of the kernel's where it is to be, and where there is one.
func (e *Elector) newAlarm() alarm.Alarm {
	if e.cfg.KernelTimer {
		a, err := alarm.Open()
		if err == nil {
			return a
		}
		e.log.Debug("the election goes by a timer of the runtime", "error", err)
	}
	return alarm.Plain()
}

// arm sets the one alarm to the next thing to do.
func (e *Elector) arm() {
	e.due = e.machine.Deadline(time.Now())
	e.alarm.Set(e.due)
}

// noteLate keeps by how much the timer was served late: what a loaded machine takes from an election.
func (e *Elector) noteLate() {
	now := time.Now()
	e.mu.Lock()
	defer e.mu.Unlock()
	e.lag.Note(now, now.Sub(e.due))
}

func (e *Elector) newestFitness() election.Fitness {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.fitness
}

// step gives an event to the machine, after what was heard beside the election, and carries out what it asks for, in its order, until it asks
// for nothing more.
func (e *Elector) step(probes *probes, ev event) {
	events := []event{ev}
	if heard := e.listen(); len(heard) > 0 {
		events = []event{voices{heard}, ev}
	}
	for _, ev := range events {
		for ev != nil {
			e.mu.Lock()
			actions := e.machine.Step(time.Now(), ev)
			e.mu.Unlock()
			ev = nil
			for _, a := range actions {
				ev = e.carryOut(probes, a)
			}
		}
	}
	e.tellPulse()
	e.giveBack()
}

// carryOut returns the response if the machine waits for one; nil if it does not.
func (e *Elector) carryOut(probes *probes, a action) event {
	switch a := a.(type) {
	case advertise:
		e.advertise(a)
	case message:
		e.send(a.Message)
	case endLease:
		e.setLeaseEnd(time.Time{})
	case apply:
		err := e.follow(e.blame(a.Decision))
		if a.ask {
			return response{err: err}
		}
	case drain:
		e.wire.Drain(time.Now())
		if a.Messages {
			return response{arrived: arrived{Messages: e.messages(), Adverts: e.adverts()}}
		}
		return response{arrived: arrived{Adverts: e.adverts()}}
	case question:
		return response{answered: e.answers(a)}
	case ask:
		e.cfg.Ears.Ask(a.Question)
	case probe:
		e.mu.Lock()
		fn, told := e.probe, e.machine.fitness.effective
		e.mu.Unlock()
		probes.start(a.ID, fn, told)
	case rename:
		e.cfg.Members.Wire.Rename(a.Group)
	case answer:
		a.done <- a.err
	case line:
		e.log.Log(context.Background(), a.level, a.text, a.args...)
	case split:
		e.logSplit(a)
	case membersChanged:
		select {
		case e.stirred <- struct{}{}:
		default:
		}
	}
	return nil
}

func (e *Elector) advertise(a advertise) {
	// The lease of the kernel begins when the advertisement leaves, and this process may be frozen between that and the
	// next line: the lease must not be longer.
	began := time.Now()
	err := e.wire.Send(a.Advertisement)
	e.noteUnsent(err)
	e.mu.Lock()
	defer e.mu.Unlock()
	switch {
	case err != nil:
		e.machine.unsent(a.Advertisement, e.leaseEnd)
	case a.lease > 0:
		e.leaseEnd = began.Add(a.lease)
	}
}

// noteUnsent says that the kernel begins to refuse advertisements, and that it has ended: they may be a hundred a second.
func (e *Elector) noteUnsent(err error) {
	switch was := e.unsent; {
	case err != nil && !was:
		e.log.Warn("the kernel refuses to send advertisements: if a firewall on this node does, let protocol 112 (VRRP) out", "error", err)
	case err != nil:
		e.log.Debug("advertisement not sent", "error", err)
	case was:
		e.log.Info("advertisements are sent again")
	}
	e.unsent = err != nil
}

// send does not fail: a message that did not leave is as one that was lost.
func (e *Elector) send(m members.Message) {
	m.Peer.Claims = m.Peer.Claims && time.Now().Before(e.LeaseEnd()) // this process may have stood still
	if err := e.cfg.Members.Wire.Send(m); err != nil {
		e.log.Debug("message to the members not sent", "type", m.Type.String(), "error", err)
	}
}

func (e *Elector) setLeaseEnd(until time.Time) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.leaseEnd = until
}

// LeaseEnd implements Elector.
func (e *Elector) LeaseEnd() time.Time {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.leaseEnd
}
