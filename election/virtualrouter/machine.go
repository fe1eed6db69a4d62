package virtualrouter

import (
	"log/slog"
	"net/netip"
	"time"

	"github.com/keepvip/keepvip/election"
	"github.com/keepvip/keepvip/internal/base/code"
	"github.com/keepvip/keepvip/members"
	"github.com/keepvip/keepvip/vrrp"
)

// machine is one node's part in the election of a Virtual Router, pure: it has no clock, does no I/O and logs nothing. It joins
// the router, which speaks VRRP, to the members' protocol, which passes the address on: a step of one may ask for a step of the other.
// Only a Group, if there is one, is shared with other machines.
type machine struct {
	cfg    Config
	source netip.Addr // own address; never changes
	router *vrrp.Machine
	heard  senders
	roster roster
	x      *handoverProtocol // nil: plain VRRP alone

	fitness standing
	leaving leaving
	hearing hearing
	outside outside
	watch   watch
	lines   election.Lines

	state    election.State
	since    time.Time
	reason   string
	code     code.Code
	counters election.Counters
	leaseEnd time.Time // at the latest; the exact time is known to whoever sends

	holder following
	quiet  bool // the host passes the address on, and has not let go of it

	stop  *stop // why this node stops; nil: it does not
	ended bool

	now       time.Time
	contested bool // a rival was heard in this step
	late      bool // this node took the address as nobody was heard since its start, and another one held it meanwhile
	agenda    agenda
	// What each step ends with, and what is judged when something has expired. Both are made once: hundreds of steps a second would make them garbage.
	always, expiry []func()
}

// newMachine makes a machine that has not begun. The error is vrrp's.
func newMachine(cfg Config) (*machine, error) {
	cfg.Router.Grouped, cfg.Router.Prompt = cfg.GroupMember != nil, cfg.Members != nil
	r, err := vrrp.NewMachine(cfg.Router)
	if err != nil {
		return nil, err
	}
	m := &machine{cfg: cfg, source: cfg.Router.Source, router: r, reason: "not started"}
	m.fitness = standing{m: m, ownFitness: ownFitness{noCandidate: cfg.NoCandidate}}
	m.leaving.m, m.hearing.m, m.outside.m, m.watch.m, m.holder.m = m, m, m, m, m
	for _, a := range cfg.Peers {
		if !m.own(a) {
			m.hearing.Know(a)
		}
	}
	if cfg.Members != nil {
		m.x = newHandoverProtocol(m, cfg.AsMember)
	}
	m.always = []func(){m.hearing.judge, m.fitness.judgeAnswers, m.fitness.consult, m.x.tell, m.leaving.conclude, m.end}
	m.expiry = []func(){m.watch.judgeEnding, m.watch.judgeSilence, m.holder.look, m.x.expire, m.leaving.conclude}
	return m, nil
}

// Step handles one event at time now and returns the actions to carry out, in order. If the last one is an ask, Step comes next with
// its response, and until then only with meanwhile. now must not run backwards.
func (m *machine) Step(now time.Time, ev event) []action {
	m.now = now
	m.agenda.begin()
	switch ev := ev.(type) {
	case response:
		m.agenda.respond(ev)
	case meanwhile:
		m.advertiseMeanwhile()
		return m.agenda.actions
	default:
		m.contested = false
		m.agenda.last(m.handle(ev))
		m.agenda.last(m.always...)
	}
	return m.agenda.run()
}

func (m *machine) handle(ev event) func() {
	return func() {
		switch ev := ev.(type) {
		case begin:
			m.fitness.begin(ev.Fitness)
		case arrived:
			m.agenda.first(m.take(ev))
		case expired:
			m.watch.beat = ev.Beat
			m.agenda.first(m.take(ev.arrived), m.hearing.judge, m.expire)
		case voices:
			m.hearing.listen(ev.Voices)
		case refit:
			m.fitness.refit(func(o *ownFitness) { o.told = ev.Fitness })
		case reconfigure:
			m.cfg.AsMember.Group = ev.first
			m.x.handle(ev)
			m.reconfigure(ev.Config)
		case setCandidate:
			m.fitness.refit(func(o *ownFitness) { o.noCandidate = !ev.On })
		case setUnreached:
			m.outside.Unreached = ev.Unreached
		case stop:
			m.stop = &ev
			m.leaving.leave(ev)
		case want:
			m.leaving.want(ev.handover)
		case abandon:
			if m.leaving.abandon(m.now, ev.handover) {
				m.leaving.conclude()
			}
		default:
			m.x.handle(ev)
		}
	}
}

// say logs what others can bring about.
func (m *machine) say(level slog.Level, text string, args ...any) {
	if left, ok := m.lines.May(m.now, text, election.MostLines); ok {
		m.agenda.act(line{level, text, election.LeftOut(args, left)})
	}
}

// drain goes on when everything that has arrived has been taken in, of messages too if they are wanted: this process may be late.
func (m *machine) drain(messages bool, then func()) {
	m.agenda.ask(drain{Messages: messages}, func(r response) { m.agenda.first(m.take(r.arrived), then) })
}

// take takes in what has arrived. Messages come first: an Active tells the members that it wants to pass the address on before it
// advertises a lower priority.
func (m *machine) take(a arrived) func() {
	return func() {
		var work []func()
		for _, r := range a.Messages {
			work = append(work, m.x.receive(r))
		}
		for _, adv := range a.Adverts {
			work = append(work, func() { m.hear(adv) })
		}
		if len(a.Adverts) > 0 {
			work = append(work, m.holder.look, m.leaving.conclude)
		}
		m.agenda.first(work...)
	}
}

// end is the last thing in each step.
func (m *machine) end() {
	if m.stop == nil || m.ended || !m.leaving.departed() {
		return
	}
	m.ended = true
	m.agenda.first(
		m.routerStep(vrrp.Shutdown{Reason: vrrp.Reason(m.stop.Reason)}),
		func() { m.leaving.answer(errStopped) }, // whoever still waits
		m.x.leave,
	)
}

// Deadline is when expired is due.
func (m *machine) Deadline(now time.Time) time.Time {
	next, ok := m.router.Deadline()
	if !ok || m.fitness.waiting() || !next.After(now) && m.hearing.undecided() {
		next = m.heard.idleUntil(now, m.holder.address)
	}
	if m.watch.patient.After(now) && !next.After(now) {
		next = m.watch.patient
	}
	for _, at := range []time.Time{m.fitness.backoff.Next(), m.x.deadline(), m.leaving.until, m.leaving.handover.deadline(), m.holder.due, m.hearing.due(), m.watch.ending.due, m.fitness.unanswered.until, m.fitness.unreached.until} {
		if !at.IsZero() && at.Before(next) {
			next = at
		}
	}
	return next
}

// event is something that has happened. The set is closed.
type event interface{ event() }

type (
	begin struct{ election.Fitness } // comes first
	// expired says that the Deadline has passed; everything that has arrived comes with it, and when the Active that is followed was heard by a
	// beat last.
	expired struct {
		arrived
		Beat time.Time
	}
	arrived struct {
		Messages []members.Received
		Adverts  []Arrival
	}
	voices      struct{ Voices []Voice }   // who was heard beside the election
	refit       struct{ election.Fitness } // the newest fitness; or the group has changed
	reconfigure struct {
		vrrp.Config
		first       netip.Addr
		spreadEvery time.Duration
	}
	setCandidate  struct{ On bool }
	setDraining   struct{ On bool }
	setUnanswered struct{ netip.Addr } // the holder that does not answer for the address
	setUnreached  struct{ election.Unreached }
	takeBack      struct{ On bool }
	setSpread     struct{ *election.Spread }  // nil: this node does not spread
	confirmed     struct{ members.Confirmed } // the result of a probe
	want          struct{ *handover }         // an operator wants the address elsewhere
	abandon       struct{ *handover }         // it is to end now
	// stop: resign, and end, and why; cut off, there is nobody to whom the address could be passed on.
	stop struct {
		CutOff bool
		Code   code.Code
		Reason string
	}
	// response is the outcome of an ask: the error of apply, what drain has found, or whether a question was answered.
	response struct {
		arrived
		err      error
		answered bool
	}
	// meanwhile says that the router's deadline has passed while apply is being carried out.
	meanwhile struct{}
)

func (begin) event()         {}
func (expired) event()       {}
func (arrived) event()       {}
func (voices) event()        {}
func (refit) event()         {}
func (reconfigure) event()   {}
func (setCandidate) event()  {}
func (setDraining) event()   {}
func (setUnanswered) event() {}
func (setUnreached) event()  {}
func (takeBack) event()      {}
func (setSpread) event()     {}
func (confirmed) event()     {}
func (want) event()          {}
func (abandon) event()       {}
func (stop) event()          {}
func (response) event()      {}
func (meanwhile) event()     {}

// action is something to carry out. The set is closed.
type action interface{ action() }

type (
	// advertise sends an advertisement. With a lease this node may answer for so long from then on, if it has left.
	advertise struct {
		vrrp.Advertisement
		lease time.Duration
	}
	message  struct{ members.Message } // sends it to the members
	endLease struct{}                  // this node may not answer any more
	// apply carries out a decision. With ask set it is answered.
	apply struct {
		election.Decision
		ask bool
	}
	drain struct{ Messages bool } // an ask: look what has arrived
	// question is an ask: does anybody answer for that address?
	question struct {
		netip.Addr
		of ending
	}
	ask    struct{ members.Question } // asks hosts of the link whether they are there
	probe  struct{ ID uint64 }        // looks afresh at this node's fitness, and answers with confirmed
	rename struct{ Group netip.Addr }
	// membersChanged says that a member is another to those that spread.
	membersChanged struct{}
	answer         struct {
		*handover
		err error
	}
	line struct { // of the log
		level slog.Level
		text  string
		args  []any
	}
	split struct { // a line of the log, for whose cause the socket may have to be asked
		election.Split
		left int // how many were left out before it
	}
)

func (advertise) action()      {}
func (message) action()        {}
func (endLease) action()       {}
func (apply) action()          {}
func (drain) action()          {}
func (question) action()       {}
func (ask) action()            {}
func (probe) action()          {}
func (rename) action()         {}
func (answer) action()         {}
func (membersChanged) action() {}
func (line) action()           {}
func (split) action()          {}
