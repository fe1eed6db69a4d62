package members

import (
	"net/netip"
	"time"

	"github.com/keepvip/keepvip/internal/base/code"
	"github.com/keepvip/keepvip/vrrp"
)

// Machine is one node's part in knowing the members and passing the address on, pure: it has no clock and does no I/O.
// Make one with [NewMachine]. It is not safe for concurrent use.
//
// It never decides by itself who holds the address. It advises the election: a Pass makes the holder a Backup, a Take
// makes a Backup the Active. When the handover comes to nothing, the election goes on as without it.
//
// It acts by what is known. Its parts do not know each other: it asks one, and tells the next.
type Machine struct {
	known     known
	outage    outage
	grantor   grantor
	requester requester
	hello     hello

	left bool

	stepped time.Time // the last Step
	actions []Action
}

// NewMachine returns a Machine that knows nobody.
func NewMachine(cfg Config) *Machine {
	m := &Machine{}
	m.known.own.configure(cfg)
	return m
}

// Step handles one event at time now and returns the actions to carry out in order. The slice is valid until the next
// Step. now must not run backwards.
func (m *Machine) Step(now time.Time, ev Event) []Action {
	clear(m.actions)
	m.actions = m.actions[:0]
	if m.left {
		return nil
	}
	m.expire(now)
	if m.stepped.IsZero() {
		m.known.claimants.began = now
	}
	m.known.claimants.began = later(m.known.claimants.began, m.known.table.standstill.noticed)
	m.stepped = now
	m.outage.notice(now, m.known.nobodyFit(now))
	switch ev := ev.(type) {
	case Advertised:
		m.accompany(now)
		return m.actions
	case SetSelf:
		m.setSelf(now, ev)
	case Received:
		m.received(now, ev)
	case Contested:
		m.reassert(now)
	case Confirmed:
		m.requester.confirmed(now, ev)
	case Passed:
		m.grant(now)
	case Reconfigure:
		m.reconfigure(now, ev.Config)
	case Leave:
		m.known.own.leave(ev)
		m.act(Send{m.known.goodbye()})
		m.left = true
		return m.actions
	}
	m.outage.notice(now, m.known.nobodyFit(now))
	m.act(m.grantor.releaseWhenDue(now))
	if pass := m.grantor.grantWhenDue(now, m.known.own.offer(), m.known.table.list); pass != nil {
		m.act(pass)
		return m.actions
	}
	m.seek(now)
	if m.known.claimants.noteMissing(now, m.known.table.list) {
		m.hello.missing(now)
	}
	m.sayHello(now)
	return m.actions
}

// Deadline returns when Expired is due next, and false if no timer runs.
func (m *Machine) Deadline() (time.Time, bool) {
	if m.left {
		return time.Time{}, false
	}
	next := sooner(m.hello.deadline(), m.known.table.deadline())
	next = sooner(next, m.grantor.deadline())
	next = sooner(next, m.requester.deadline())
	next = sooner(next, m.known.claimants.deadline(m.stepped, m.known.table.list, m.known.own.bounds()))
	return next, !next.IsZero()
}

// Members lists the other nodes that are known, by address, as they say that they are. A deaf one that cannot know it is named here. The list is in the
// memory of dst, whose elements go, as far as there is room.
func (m *Machine) Members(dst []Member, now time.Time) []Member {
	m.expire(now)
	list := append(dst[:0], m.known.table.list...)
	for i := range list {
		if o := &list[i]; o.Peer.HearsNobody && now.Sub(o.nobody) >= namedAfter && m.known.vouched(o) {
			o.Peer.Deaf, o.Peer.Code, o.Peer.Reason = true, code.Deaf, hearsNobody
		}
	}
	return list
}

// namedAfter is how long a member that starts has for hearing of the others before it is called deaf. It is not yielded to before that either.
const namedAfter = 3 * time.Second

const hearsNobody = "DEAF: nothing has arrived there since its start, and others hear each other"

// Successors tells whether another node is known that could take the address now.
func (m *Machine) Successors(now time.Time) bool {
	m.expire(now)
	return !m.known.own.cfg.Passive && m.known.table.anyReady(m.known.own.self.For)
}

// Every is the time between two HELLOs that nothing else calls for.
func (m *Machine) Every() time.Duration { return m.known.own.every() }

// Hear notes that an advertisement of source came in at that time.
func (m *Machine) Hear(source netip.Addr, at time.Time) {
	m.known.claimants.hear(source.WithZone(""), at, func(a netip.Addr) bool { return m.known.table.find(a) != nil })
}

// Unheard tells whether what the member said at that time came where an advertisement of it should have come before.
func (m *Machine) Unheard(source netip.Addr, at time.Time) bool {
	o := m.known.table.find(source)
	return o != nil && m.known.claimants.unheard(o, at)
}

// Deaf tells whether nothing arrives at the node of that address: as it says itself, or because it hears nobody while another member hears this
// node. Nobody takes part in an election with it: it cannot hear that it has lost. Nor can it answer for the address.
func (m *Machine) Deaf(source netip.Addr) bool {
	o := m.known.table.find(source)
	return o != nil && (o.Peer.Deaf || o.Peer.HearsNobody && m.known.vouched(o))
}

// Unanswered lists the members that say that this node, as the holder, has left their questions for the address unanswered. They hear it, and it
// hears them: so what is broken is how it answers.
func (m *Machine) Unanswered() (list []Member) {
	for _, o := range m.known.table.list {
		if o.Peer.Unanswered != 0 && o.Peer.Unanswered == m.known.own.cfg.Session {
			list = append(list, o)
		}
	}
	return list
}

// Unreached lists the members that say that their connections to the address do not come to that node: a member, or this one.
func (m *Machine) Unreached(holder netip.Addr) (list []Member) {
	session := m.known.own.cfg.Session
	if holder != m.known.own.cfg.Address {
		o := m.known.table.find(holder)
		if o == nil {
			return nil
		}
		session = o.Session
	}
	for _, o := range m.known.table.list {
		if o.Peer.Unreached != 0 && o.Peer.Unreached == session {
			list = append(list, o)
		}
	}
	return list
}

// Claimants lists the members that claim the address and of which no advertisement arrives, the one that ranks highest first.
func (m *Machine) Claimants(now time.Time) []Claimant {
	return m.known.claimants.all(now, m.known.table.list, m.known.own.bounds())
}

// Defers tells whether an advertisement of lower priority from source, which would let this node take over, is to be
// followed instead: its sender is a member, and passing the address on is under way, or this node is Patient. Each reason ends by itself, and
// one that sends no advertisements is never deferred to.
func (m *Machine) Defers(now time.Time, source netip.Addr) bool {
	m.expire(now)
	h := m.known.table.find(source)
	if h == nil || h.Peer.State != vrrp.Active || m.left || m.known.own.cfg.Passive {
		return false
	}
	return m.known.own.cfg.Patient || now.Before(m.outage.recovered(m.known.own.cfg.RecoverHold)) || m.requester.defers(now, h.Address)
}

// expire forgets the members that were silent for too long. Whoever asks first after a standstill, and about what, is not known.
func (m *Machine) expire(now time.Time) {
	due, _ := m.Deadline()
	m.known.table.expire(now, due)
}

func (m *Machine) setSelf(now time.Time, s SetSelf) {
	if m.known.own.set(s) {
		m.grantor.follow(s.State)
		m.requester.follow(s.State)
		m.hello.changed(now)
	}
}

// reconfigure with another group leaves the one and knows nobody of the other: a node that has not changed its addresses
// yet is met again when it has.
func (m *Machine) reconfigure(now time.Time, cfg Config) {
	old := m.known.own.cfg
	cfg.Address, cfg.Session, cfg.Node = old.Address, old.Session, old.Node
	if !cfg.Group.IsValid() {
		cfg.Group = old.Group
	}
	if cfg.Group != old.Group {
		m.act(Send{m.known.goodbye()})
		m.known.table.clear()
		m.hello.changed(now)
	}
	m.known.own.configure(cfg)
}

// grant ends the time for which this node holds the address.
func (m *Machine) grant(now time.Time) {
	if m.known.own.self.State != vrrp.Active {
		return
	}
	grant := m.grantor.grant(m.known.own.epoch)
	if grant == nil {
		return
	}
	m.known.own.passOn()
	m.hello.changed(now)
	m.act(grant)
}

// seek does what is due towards having the address.
func (m *Machine) seek(now time.Time) {
	cfg, self := &m.known.own.cfg, &m.known.own.self
	m.act(m.requester.seek(now, situation{
		address: cfg.Address, priority: self.Priority, ready: self.State == vrrp.Backup && self.Fit, passive: cfg.Passive,
		within:  m.known.own.within(),
		preempt: cfg.Preempt, preemptDelay: cfg.PreemptDelay, recovered: m.outage.recovered(cfg.RecoverHold),
		holder: m.known.holder(now), asked: m.known.table.find(m.requester.from),
	}))
}

// act has an action carried out; nil: none.
func (m *Machine) act(a Action) {
	if t, ok := a.(sendTransfer); ok {
		a = Send{m.known.message(t.kind, t.transfer)}
	}
	if a != nil {
		m.actions = append(m.actions, a)
	}
}

// outranks compares two that ask: by priority, then by address.
func outranks(p uint8, a netip.Addr, q uint8, b netip.Addr) bool {
	if p != q {
		return p > q
	}
	return b.Less(a)
}
