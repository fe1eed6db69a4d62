package virtualrouter

import (
	"log/slog"
	"net/netip"
	"slices"
	"time"

	"github.com/keepvip/keepvip/election"
	"github.com/keepvip/keepvip/internal/base/code"
	"github.com/keepvip/keepvip/vrrp"
)

// routerStep gives an event to the router, and has done what it asks for.
func (m *machine) routerStep(ev vrrp.Event) func() { return func() { m.stepRouter(ev) } }

func (m *machine) stepRouter(ev vrrp.Event) {
	var work []func()
	for _, a := range slices.Clone(m.router.Step(m.now, ev)) {
		work = append(work, func() { m.follow(a) })
	}
	m.agenda.first(append(work, m.fitness.tellGroup)...)
}

func (m *machine) follow(a vrrp.Action) {
	switch a := a.(type) {
	case vrrp.Send:
		m.send(a.Advertisement)
	case vrrp.Change:
		m.change(election.State(a.From), election.State(a.To), a.Reason)
	case vrrp.Reannounce:
		m.counters.Rivals++
		m.noteLate()
		if m.contested {
			return // the host announces once after all that have arrived together
		}
		m.contested = true
		m.agenda.act(apply{Decision: election.Decision{
			Role: election.Serve, At: m.now, Holder: m.source,
			Reason: "a rival was heard: " + a.Rival.String(), Code: code.Rival, Rival: true, Again: m.cfg.Router.Interval,
		}})
		m.agenda.first(m.x.contested)
	}
}

// noteLate finds out that this node was cut off at its start: it took the address as nobody was heard, and somebody held it all the time. That is how
// a node does that boots while its switch port forwards nothing yet. Two that start at the same moment hear of each other sooner.
func (m *machine) noteLate() {
	if m.late || m.counters.Takeovers != 1 || m.code != code.NobodyHeld || m.now.Sub(m.since) < 2*m.router.Snapshot().ActiveDownInterval {
		return
	}
	m.late, m.code = true, code.ForwardedLate
	m.say(slog.LevelWarn, lateText, "remedy", code.ForwardedLate.Entry().Remedy)
}

const lateText = "took the address as nobody was heard since the start, and another node held it: the port of the switch may forward late"

func (m *machine) send(adv vrrp.Advertisement) {
	m.counters.Sent++
	if adv.Priority == 0 {
		m.counters.Resigned++
	}
	if adv.Priority == 0 || m.router.Snapshot().State != vrrp.Active {
		m.agenda.act(advertise{Advertisement: adv})
		return
	}
	lease := Lease(m.cfg.Router)
	m.leaseEnd = m.now.Add(lease)
	m.agenda.act(advertise{adv, lease})
	m.agenda.first(m.x.advertised)
}

// unsent takes back that an advertisement has left.
func (m *machine) unsent(adv vrrp.Advertisement, end time.Time) {
	m.counters.Sent--
	if adv.Priority == 0 {
		m.counters.Resigned--
	}
	m.counters.SendErrors++
	m.leaseEnd = end
}

// advertiseMeanwhile goes on with advertising while a decision is being carried out. What else the router wants comes after it: this
// process stood still, and the host follows one decision at a time.
func (m *machine) advertiseMeanwhile() {
	for _, a := range slices.Clone(m.router.Step(m.now, vrrp.Expired{})) {
		if s, ok := a.(vrrp.Send); ok && len(m.agenda.late) == 0 {
			m.agenda.beside(func() { m.send(s.Advertisement) })
			continue
		}
		m.agenda.putOff(func() { m.follow(a) })
	}
}

// change has the decision carried out before anything else happens.
func (m *machine) change(from, to election.State, reason vrrp.Reason) {
	t := turn{from: from, to: to, reason: reason, before: m.holder.address, after: m.holder.in(to)}
	w, text := m.holder.former.explain(m.facts(), t), string(reason)
	if m.fitness.kept.Out && reason == vrrp.ReasonStarted {
		_, text = returning(m.fitness.kept)
	}
	if to != election.Initialize {
		m.fitness.kept = election.Fitness{}
	}
	m.holder.set(t.after)
	m.late = false
	m.state, m.since, m.reason, m.code = to, m.now, text, w.code
	m.contested = false // what came before this change says nothing about what comes after it
	m.counters.Transitions++
	if to == election.Active {
		m.counters.Takeovers++
	} else {
		m.leaseEnd = time.Time{}
		m.agenda.act(endLease{})
	}
	m.quiet = reason == vrrp.ReasonPassedOn
	if m.quiet {
		return // that was carried out before
	}
	d := w.decide(election.Decision{
		Role: election.RoleOf(to), Reason: text, Holder: t.after, At: m.now, Granted: reason == vrrp.ReasonGranted,
	})
	if to != election.Active {
		m.agenda.act(apply{Decision: d})
		return
	}
	m.agenda.ask(apply{d, true}, func(r response) {
		if r.err != nil {
			m.fitness.giveUp(r.err)
			return
		}
		m.fitness.backoff = election.BindBackoff{}
	})
}

// giveUp resigns after the host could not bind the address.
func (s *standing) giveUp(err error) {
	m := s.m
	backoff := &s.backoff
	backoff.Begin(m.now, err, m.router.Snapshot().ActiveDownInterval)
	m.agenda.act(line{slog.LevelWarn, "resigned: the address could not be bound", []any{"error", err, "comes last for", backoff.Wait()}})
	m.agenda.first(s.fit)
}

// hear takes an advertisement into account.
func (m *machine) hear(a Arrival) {
	aged := m.heard.age(m.now)
	adv, before := a.Advertisement, len(m.heard.list)
	m.hearing.Hear(a.Source, a.At)
	m.x.hear(a)
	m.heard.hear(a.Source, adv.Priority, silence(m.cfg.Router, m.router.Snapshot(), a), a.At)
	if note := odd(m.cfg.Router, adv); m.heard.remark(a.Source, note, a.At) {
		m.say(slog.LevelWarn, "an advertisement is not as expected", "from", a.Source.String(), "it", note)
	}
	m.counters.Received++
	if adv.Priority == 0 {
		m.counters.Resignations++
	}
	received := func() {
		m.stepRouter(vrrp.Received{
			Source: a.Source, Advertisement: adv, Age: m.now.Sub(a.At),
			Equals: m.equals(a.Source), Deaf: m.x.isDeaf(a.Source), Deferred: m.x.defers(a.Source),
		})
	}
	if aged || len(m.heard.list) != before {
		m.agenda.first(m.tieBreak, received)
		return
	}
	received()
}

// expire comes after everything that has arrived: a starved process must not take its own lag for the other node's death.
func (m *machine) expire() {
	m.agenda.first(m.expiry...)
	if m.fitness.backoff.Due(m.now) {
		m.agenda.first(m.fitness.fit)
	}
	if m.heard.age(m.now) {
		m.agenda.first(m.tieBreak)
	}
}

// tieBreak tells the router how ties are broken, now that more is known about the others.
func (m *machine) tieBreak() {
	r := m.cfg.Router
	offset := tieBreakDelay(m.source, others(m.source, m.cfg.Peers, m.roster.known), r.Interval)
	if !perhapsEquals(r.Priority, m.heard.report(nil, m.now)) {
		offset /= amongOthers
	}
	m.stepRouter(vrrp.SetTieBreakDelay{Offset: offset})
}

// reconfigure takes over what can change without a new election.
func (m *machine) reconfigure(cfg vrrp.Config) {
	cfg.Grouped, cfg.Prompt = m.cfg.GroupMember != nil, m.x != nil
	m.cfg.Router = cfg
	m.agenda.first(m.routerStep(vrrp.Reconfigure{Config: cfg}), m.tieBreak, m.fitness.fit)
}

// following is who is known as the Active, and who was before.
type following struct {
	m *machine
	knownHolder
	former former // counts while no holder is known
}

// in is the Active as seen from the given state of our own.
func (f *following) in(s election.State) netip.Addr {
	if s == election.Active {
		return f.m.source
	}
	return f.heard()
}

// heard is the Active by its advertisements, or else by what it says.
func (f *following) heard() netip.Addr {
	m := f.m
	if holder := m.heard.holder(m.now); holder.IsValid() {
		return holder
	}
	return m.x.claimant()
}

// look decides anew when another node than before is heard as the Active. A host that is passing the address on hears of it
// when it has let go: it has nothing else to do until then, and is to be quick.
func (f *following) look() {
	m := f.m
	if m.quiet {
		f.keep()
		return
	}
	holder, active := f.in(m.state), m.state == election.Active
	before, another := f.note(m.now, holder, active)
	if !another || active {
		return
	}
	reason := "no Active is heard"
	if holder.IsValid() {
		reason = "another node is heard as the Active"
	}
	w := f.former.following(m.facts(), before, holder)
	m.agenda.act(apply{Decision: w.decide(election.Decision{Role: election.RoleOf(m.state), Reason: reason, Holder: holder, At: m.now})})
}
