package virtualrouter

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/keepvip/keepvip/election"
	"github.com/keepvip/keepvip/internal/base/nudge"
	"github.com/keepvip/keepvip/members"
)

// Elector elects by VRRP advertisements (RFC 9568, RFC 3768), and passes the address on by the members' protocol. It is the loop around a
// machine: it waits for what happens, and carries out what the machine asks for.
type Elector struct {
	cfg   Config
	wire  Wire
	log   *slog.Logger
	apply func(election.Decision) error

	orders
	timer   timer
	in      inlet
	out     outlet
	stirred nudge.Signal // a member is another to those that spread

	mu      sync.Mutex // guards machine
	machine *machine
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
	if cfg.Pulse != nil && (cfg.Answers == nil || cfg.Members == nil) {
		return nil, errUnasked
	}
	return &Elector{
		cfg: cfg, wire: wire, log: log, machine: m, orders: newOrders(), stirred: nudge.New(),
		in:  inlet{wire: wire, members: cfg.Members, refused: election.NewRejections("message of a member", actOnMembers, log).Name(memberCodeOf)},
		out: outlet{wire: wire, members: cfg.Members, log: log},
	}, nil
}

// errUnasked: who finds that a node is gone asks for the address before it takes over.
var errUnasked = errors.New("election: a Pulse without Members to agree with, or without Answers, by which the address is asked for")

// takePosted takes in what was posted, after the newest fitness.
func (e *Elector) takePosted(probes *probes) {
	fitness, posted := e.take()
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

// Handover passes the address on to the node of that name or address, or with an empty one to whoever is fit. It returns
// when the other node has it; or ErrNotActive, ErrNoTaker, or, when ctx has ended, ErrTimeout. The address stays here
// then. Without Members a lower priority is all that asks the others, and none of them can be named. Safe from any goroutine.
func (e *Elector) Handover(ctx context.Context, to string) error {
	h := &handover{to: to, done: make(chan error, 1)}
	h.code, h.reason = election.HandoverReason(ctx, to)
	if end, ok := ctx.Deadline(); ok {
		h.end = end
	}
	if err := e.ask(ctx, want{h}); err != nil {
		return err
	}
	return h.await(ctx, e.asked)
}

// Run implements Elector.
func (e *Elector) Run(ctx context.Context, apply func(election.Decision) error) error {
	e.apply = apply
	defer e.timer.open(e.cfg.KernelTimer, e.log)()
	if g := e.cfg.GroupMember; g != nil {
		g.join(e.wake)
		defer g.leave()
	}
	defer close(e.ended)
	probes := newProbes(e.asked)
	defer probes.end()
	e.step(probes, begin{e.newestFitness()})
	for stopping := ctx.Done(); !e.machine.ended; {
		e.timer.set(e.machine.Deadline(time.Now()))
		select {
		case <-stopping:
			stopping = nil
			e.step(probes, stopOf(context.Cause(ctx)))
		case <-e.in.mailed():
			e.step(probes, arrived{Messages: e.in.messages()})
		case ev := <-e.asked:
			if s, ok := ev.(still); ok {
				e.standStill(ctx, probes, s)
				continue
			}
			e.step(probes, ev)
		case <-e.told:
			e.takePosted(probes)
		case <-e.wire.Arrived():
			e.step(probes, e.arrived())
		case <-e.timer.came:
			if time.Now().Before(e.timer.due) {
				continue // it was handed over before something else was due
			}
			e.timer.noteLate()
			e.look(probes)
		}
	}
	return nil
}

// look takes in everything that has arrived, and then does what is due.
func (e *Elector) look(probes *probes) {
	e.wire.Drain(e.timer.due)
	e.step(probes, expired{e.arrived(), e.beat()})
}

// arrived is what has come in by now.
func (e *Elector) arrived() arrived {
	return arrived{Messages: e.in.messages(), Adverts: e.in.adverts(e.cfg.Router)}
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
	e.in.giveBack()
}

// carryOut returns the response if the machine waits for one; nil if it does not.
func (e *Elector) carryOut(probes *probes, a action) event {
	switch a := a.(type) {
	case advertise:
		e.advertise(a)
	case message:
		e.out.send(a.Message)
	case endLease:
		e.out.lease(time.Time{})
	case apply:
		err := e.follow(e.blame(a.Decision))
		if a.ask {
			return response{err: err}
		}
	case drain:
		e.wire.Drain(time.Now())
		if a.Messages {
			return response{arrived: e.arrived()}
		}
		return response{arrived: arrived{Adverts: e.in.adverts(e.cfg.Router)}}
	case question:
		return response{answered: e.answers(a)}
	case ask:
		e.cfg.Ears.Ask(a.Question)
	case probe:
		e.mu.Lock()
		told := e.machine.fitness.effective
		e.mu.Unlock()
		probes.start(a.ID, e.newestProbe(), told)
	case rename:
		e.cfg.Members.Rename(a.Group)
	case answer:
		a.done <- a.err
	case line:
		e.log.Log(context.Background(), a.level, a.text, a.args...)
	case split:
		e.logSplit(a)
	case membersChanged:
		e.stirred.Send()
	}
	return nil
}

func (e *Elector) advertise(a advertise) {
	if err := e.out.advertise(a); err != nil {
		e.mu.Lock()
		defer e.mu.Unlock()
		e.machine.unsent(a.Advertisement, e.out.leased())
	}
}

// listen takes what hosts of the link have said, where somebody was asked or is to be asked: this process does not wake up for it.
func (e *Elector) listen() []Voice {
	if e.cfg.Ears == nil {
		return nil
	}
	now := time.Now()
	e.mu.Lock()
	hearing := &e.machine.hearing
	hearing.Share(e.cfg.Ears.Sound(hearing.Heard()))
	asked, due := hearing.Asked(), hearing.Due(now)
	e.mu.Unlock()
	since := e.in.listened
	if !due {
		if asked.IsZero() || now.Sub(asked) > listenFor {
			return nil
		}
		since = later(since, asked.Add(-members.QuestionGap))
	}
	return e.in.hear(e.cfg.Ears, since)
}

// listenFor is how long after a question answers to it are looked for.
const listenFor = 3 * time.Second

// LeaseEnd implements Elector.
func (e *Elector) LeaseEnd() time.Time { return e.out.leased() }
