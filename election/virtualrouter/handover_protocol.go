package virtualrouter

import (
	"log/slog"
	"net/netip"
	"slices"
	"time"

	"github.com/keepvip/keepvip/election"
	"github.com/keepvip/keepvip/members"
	"github.com/keepvip/keepvip/vrrp"
)

// handoverProtocol is the part of a machine that knows the members and passes the address on. The methods of a nil one do nothing:
// that is plain VRRP.
type handoverProtocol struct {
	m       *machine
	agenda  *agenda // the machine's
	members *members.Machine
	own     telling

	claims  claims
	recall  recall
	unnoted bool // an advertisement was heard since note
}

func newHandoverProtocol(m *machine, cfg members.Config) *handoverProtocol {
	x := &handoverProtocol{m: m, agenda: &m.agenda}
	x.own = telling{x: x, cfg: cfg, spread: ownSpread{every: cfg.SpreadEvery}, blame: blame{x: x}}
	x.own.cfg = x.own.config()
	x.members = members.NewMachine(x.own.cfg)
	return x
}

// handle does what an operator, or the configuration, wants of this node among the members. It comes into effect with tell, or by what is
// put on the agenda.
func (x *handoverProtocol) handle(ev event) {
	if x == nil {
		return
	}
	switch ev := ev.(type) {
	case reconfigure:
		x.own.spread.every = ev.spreadEvery
	case setDraining:
		x.own.draining = ev.On
	case setUnanswered:
		x.own.blame.of(ev.Addr)
	case setSpread:
		if x.own.spread.become(ev.Spread) {
			x.agenda.act(membersChanged{}) // nothing was said of changes until now
		}
	case takeBack:
		if x.recall.want(ev.On) {
			x.agenda.first(x.m.fitness.fit)
		}
	case confirmed:
		x.agenda.first(x.step(ev.Confirmed))
	}
}

func (x *handoverProtocol) deadline() time.Time {
	if x == nil {
		return time.Time{}
	}
	next, _ := x.members.Deadline()
	return next
}

// step gives an event to the members' machine, and has done what it asks for. What the router does meanwhile that machine is told
// later, by tell.
func (x *handoverProtocol) step(ev members.Event) func() {
	return func() {
		var work []func()
		same := x.sameAfter(ev)
		for _, a := range slices.Clone(x.members.Step(x.m.now, ev)) {
			work = append(work, func() { x.follow(a) })
		}
		if !same {
			work = append(work, x.note)
		}
		x.agenda.first(work...)
	}
}

// sameAfter tells that nothing is to be noted after an event: an advertisement of this node says nothing about the others, unless something is due
// about them at this time.
func (x *handoverProtocol) sameAfter(ev members.Event) bool {
	if _, own := ev.(members.Advertised); !own || x.unnoted {
		return false
	}
	due, ok := x.members.Deadline()
	return !ok || x.m.now.Before(due)
}

func (x *handoverProtocol) follow(a members.Action) {
	switch a := a.(type) {
	case members.Send:
		x.agenda.act(message{a.Message})
	case members.Confirm:
		x.agenda.act(probe{a.ID})
	case members.Claim:
		x.m.drain(false, func() { x.claimed(a) })
	case members.Pass:
		x.passOn(a.To)
	case members.Release:
		x.release(a)
	case members.Take:
		x.m.drain(true, func() { x.take(a) })
	}
}

// receive looks at a message before the members' machine does: whoever says good-bye is missed by nobody.
func (x *handoverProtocol) receive(r members.Received) func() {
	return func() {
		if r.Line != 0 {
			x.m.watch.lineEnded(r)
			return
		}
		if r.Gone != nil {
			x.m.watch.nodeGone(r.Gone)
			return
		}
		p := &r.Message.Peer
		x.m.hearing.message(r)
		ours := r.Refused == "" && p.Group == x.own.cfg.Group
		if ours && (p.Lifetime <= 0 || !p.Fit && p.Reason != "") {
			x.m.roster.keepWord(x.m.now, r)
		}
		switch source := r.Source.WithZone(""); {
		case ours && p.Lifetime <= 0:
			x.wake(x.m.roster.forget(source))
			x.m.heard.forget(source)
		case ours && p.State != vrrp.Active && !p.Claims:
			at := r.At
			if at.IsZero() {
				at = x.m.now
			}
			x.m.heard.disclaim(source, at)
		}
		x.step(r)()
	}
}

func (x *handoverProtocol) expire() {
	if x == nil {
		return
	}
	if at, ok := x.members.Deadline(); ok && !x.m.now.Before(at) {
		x.agenda.first(x.step(members.Expired{}))
	}
}

// tell lets the members' machine know how this node is. It comes after everything else in a step, so that an Active has
// announced before it says so.
func (x *handoverProtocol) tell() {
	if x == nil {
		return
	}
	x.agenda.first(x.own.tellConfig, x.own.tellSelf)
}

// advertised lets the members know of an advertisement that has just left, if they do not hear it. The first one of a lease
// they are told of before the address is bound: a member that hears messages alone must not bind it, too.
func (x *handoverProtocol) advertised() {
	if x == nil {
		return
	}
	s := x.own.self // what comes with being Active is said when the address is announced
	s.Claims, s.Router = true, routerOf(x.m.cfg.Router)
	x.agenda.first(x.step(members.Advertised{}))
	x.own.setSelf(s)
}

// contested lets a rival know that does not yield to the advertisements of this node, because it does not hear them.
func (x *handoverProtocol) contested() {
	if x != nil {
		x.agenda.first(x.step(members.Contested{}))
	}
}

func routerOf(r vrrp.Config) members.Router {
	return members.Router{Version: r.Version, VRID: r.VRID, Interval: r.Interval}
}

// passOn lets the host stop answering, and then grants. A node that was frozen, or that is not Active any more, has
// nothing to grant. A host that cannot stop soon remains the holder: until the GRANT left, nobody would take the address in
// time, and whoever wants it asks again.
func (x *handoverProtocol) passOn(to netip.Addr) {
	m := x.m
	if m.router.Snapshot().State != vrrp.Active {
		return
	}
	k := m.facts()
	w := k.giving(vrrp.ReasonPassedOn)
	w.from, w.to = k.self(), k.node(to)
	quiet := w.decide(election.Decision{Role: election.Quiet, Reason: string(vrrp.ReasonPassedOn), Holder: m.holder.heard(), At: m.now})
	m.agenda.ask(apply{quiet, true}, func(r response) {
		if r.err != nil {
			m.agenda.act(line{slog.LevelDebug, "the address is not passed on now", []any{"error", r.err}})
			return
		}
		m.agenda.first(m.routerStep(vrrp.PassOn{}), func() {
			if m.quiet {
				m.counters.PassedOn++
				x.agenda.first(x.step(members.Passed{}))
			}
		})
	})
}

// release ends what pass has begun, unless another change of state has done so.
func (x *handoverProtocol) release(r members.Release) {
	if !x.m.quiet {
		return
	}
	x.m.quiet = false
	reason := "the next node has announced the address"
	if !r.Heard {
		reason = "the next node was given time enough"
	}
	x.agenda.act(apply{Decision: election.Decision{Role: election.Standby, Reason: reason, Holder: r.To, At: x.m.now}})
	x.agenda.first(x.m.holder.look)
}

// take comes after what the former Active has sent before it granted: its last advertisement must not look like a
// rival's. This process may stand still over that: the clock has the last word.
func (x *handoverProtocol) take(t members.Take) {
	m := x.m
	if !m.now.Before(t.Until) {
		m.agenda.act(line{slog.LevelDebug, "what was granted is not taken: it may have been taken back", []any{"late", m.now.Sub(t.Until)}})
		return
	}
	before := m.state
	m.hearing.MetHolder()
	m.agenda.first(m.routerStep(vrrp.SetLast{On: m.hearing.Last()}), m.routerStep(vrrp.Granted{}), func() {
		if before == election.Backup && m.state == election.Active {
			m.counters.Granted++
		}
	}, m.holder.look)
}

// claimed takes what a member says for its advertisement, unless that has come, too: this process may be late.
func (x *handoverProtocol) claimed(c members.Claim) {
	if !x.members.Unheard(c.From, c.At) || x.isDeaf(c.From) {
		return
	}
	x.agenda.first(x.m.routerStep(vrrp.Claimed{
		Source: c.From, Priority: c.Priority, Interval: c.Interval, Age: x.m.now.Sub(c.At), Deaf: c.Deaf, Lasts: c.Lasts,
	}), x.m.holder.look)
}

// hear notes an advertisement; one with priority 0 says that its sender holds nothing.
func (x *handoverProtocol) hear(a Arrival) {
	if x != nil && a.Advertisement.Priority > 0 {
		x.members.Hear(a.Source, a.At)
		x.unnoted = true
	}
}

// isDeaf tells whether a node is deaf, as it says itself.
func (x *handoverProtocol) isDeaf(source netip.Addr) bool { return x != nil && x.members.Deaf(source) }

// defers tells whether the Active of lower priority that source is should be followed for now.
func (x *handoverProtocol) defers(source netip.Addr) bool {
	return x != nil && x.members.Defers(x.m.now, source)
}

// note keeps what the members' machine knows of the others.
func (x *handoverProtocol) note() {
	now := x.m.now
	x.unnoted = false
	n := x.m.roster.update(now, x.members.Members(x.m.roster.spare, now))
	x.report(n)
	if n.others || len(n.deaf) > 0 {
		x.own.blame.again()
	}
	work := x.claims.note(x)
	if n.others {
		work = append(work, x.m.tieBreak)
	}
	x.agenda.first(work...)
}

// report says of a member that it is lost, and that it is back, and wakes who spreads.
func (x *handoverProtocol) report(n news) {
	for i := range n.lost {
		o := &n.lost[i]
		x.m.say(slog.LevelWarn, "a member is silent", "member", o.Address.String(), "node", o.Peer.Node, "was", o.Peer.State.String())
	}
	x.wake(n.changed)
	for i := range n.deaf {
		o := &n.deaf[i]
		x.m.say(slog.LevelError, "DEAF: nothing arrives at a member; nobody yields to it", "member", o.Address.String(), "node", o.Peer.Node)
	}
	for i := range n.hears {
		o := &n.hears[i]
		x.m.say(slog.LevelInfo, "a member that was deaf hears again", "member", o.Address.String(), "node", o.Peer.Node)
	}
	for i := range n.back {
		o := &n.back[i]
		after := x.m.now.Sub(o.Heard).Round(time.Millisecond)
		x.m.say(slog.LevelInfo, "a member is heard again", "member", o.Address.String(), "node", o.Peer.Node, "after", after)
	}
}

// successors tells whether a member could take the address over.
func (x *handoverProtocol) successors() bool { return x != nil && x.members.Successors(x.m.now) }

// fitness is the fitness f while the address is wanted back.
func (x *handoverProtocol) fitness(f election.Fitness) election.Fitness {
	if x == nil {
		return f
	}
	var holders []members.Member
	if x.m.state == election.Backup {
		holders = x.m.roster.list
	}
	return x.recall.above(f, x.m.cfg.Router.Priority, holders)
}

// leave says good-bye.
func (x *handoverProtocol) leave() {
	if x != nil {
		x.agenda.first(x.step(members.Leave{Reason: x.m.stop.Reason, Code: x.m.stop.Code}))
	}
}
