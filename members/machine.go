package members

import (
	"net/netip"
	"slices"
	"time"

	"github.com/keepvip/keepvip/internal/printable"
	"github.com/keepvip/keepvip/vrrp"
)

// Machine is one node's part in knowing the members and passing the address on, pure: it has no clock and does no I/O.
// Make one with [NewMachine]. It is not safe for concurrent use.
//
// It never decides by itself who holds the address. It advises the election: a Pass makes the holder a Backup, a Take
// makes a Backup the Active. When the handover comes to nothing, the election goes on as without it.
type Machine struct {
	cfg  Config
	self Self
	left bool

	proven bool // was fit before
	epoch  uint64

	table     table
	claimants claimants
	hello     hello
	outage    outage
	grantor   grantor
	requester requester

	stepped time.Time // the last Step
	actions []Action
}

// NewMachine returns a Machine that knows nobody.
func NewMachine(cfg Config) *Machine {
	m := &Machine{}
	m.configure(cfg)
	return m
}

func (m *Machine) configure(cfg Config) {
	if cfg.Every == 0 {
		cfg.Every = DefaultEvery
	}
	cfg.Every = min(cfg.Every, LongestEvery)
	if cfg.Adverts == 0 {
		cfg.Adverts = 3
	}
	cfg.Node, cfg.Software = printable.Clean(cfg.Node, maxNode), printable.Clean(cfg.Software, maxSoftware)
	m.cfg = cfg
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
	m.stepped = now
	m.watchOutage(now)
	switch ev := ev.(type) {
	case Advertised:
		m.accompany(now)
		return m.actions
	case SetSelf:
		m.setSelf(now, ev.Self)
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
		m.leave(ev)
		return m.actions
	}
	m.watchOutage(now)
	m.act(m.grantor.releaseWhenDue(now))
	if pass := m.grantor.grantWhenDue(now, m.offer(), m.table.list); pass != nil {
		m.act(pass)
		return m.actions
	}
	m.seek(now)
	if m.claimants.noteMissing(now, m.table.list) {
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
	next := sooner(m.hello.deadline(), m.table.deadline())
	next = sooner(next, m.grantor.deadline())
	next = sooner(next, m.requester.deadline())
	next = sooner(next, m.claimants.deadline(m.stepped, m.table.list, m.bounds()))
	return next, !next.IsZero()
}

// Members lists the other nodes that are known, by address.
func (m *Machine) Members(now time.Time) []Member {
	m.expire(now)
	return slices.Clone(m.table.list)
}

// Successors tells whether another node is known that could take the address now.
func (m *Machine) Successors(now time.Time) bool {
	m.expire(now)
	return !m.cfg.Passive && m.table.anyReady(m.self.For)
}

// Hear notes that an advertisement of source came in at that time.
func (m *Machine) Hear(source netip.Addr, at time.Time) {
	m.claimants.hear(source.WithZone(""), at, func(a netip.Addr) bool { return m.table.find(a) != nil })
}

// Unheard tells whether what the member said at that time came where an advertisement of it should have come before.
func (m *Machine) Unheard(source netip.Addr, at time.Time) bool {
	o := m.table.find(source.WithZone(""))
	return o != nil && m.claimants.unheard(o, at)
}

// Claimants lists the members that claim the address and of which no advertisement arrives, the one that ranks highest first.
func (m *Machine) Claimants(now time.Time) []Claimant {
	return m.claimants.all(now, m.table.list, m.bounds())
}

// holder is the other node that holds the address, as far as is known; nil if there is none.
func (m *Machine) holder(now time.Time) *Member {
	return m.claimants.holder(now, m.table.list, m.bounds())
}

// expire forgets the members that were silent for too long. Whoever asks first after a standstill, and about what, is not known.
func (m *Machine) expire(now time.Time) {
	due, _ := m.Deadline()
	m.table.expire(now, due)
}

// watchOutage counts only what is known: with no holder in sight there is nothing to wait for. And where nobody was fit
// before, nothing recovers: the first that is fit is waited for, as by kubeadm init.
func (m *Machine) watchOutage(now time.Time) {
	h := m.holder(now)
	if h == nil || m.self.Fit || m.table.anyFit() || !m.proven && !m.table.anyProven() {
		return
	}
	m.outage.notice(now)
}

// recovered is until when nobody asks; zero when there was no outage.
func (m *Machine) recovered() time.Time { return m.outage.recovered(m.cfg.RecoverHold) }

func (m *Machine) bounds() bounds {
	return bounds{adverts: m.cfg.Adverts, every: m.cfg.Every, interval: m.self.Router.Interval}
}

// Defers tells whether an advertisement of lower priority from source, which would let this node take over, is to be
// followed instead: its sender is a member, and passing the address on is under way. Each reason ends by itself, and
// one that sends no advertisements is never deferred to.
func (m *Machine) Defers(now time.Time, source netip.Addr) bool {
	m.expire(now)
	h := m.table.find(source.WithZone(""))
	if h == nil || h.Peer.State != vrrp.Active || m.left || m.cfg.Passive {
		return false
	}
	return now.Before(m.recovered()) || m.requester.defers(now, h.Address)
}

func (m *Machine) setSelf(now time.Time, s Self) {
	s.Reason = printable.Clean(s.Reason, maxReason)
	if s.Spread != nil && !s.Spread.valid() {
		s.Spread = nil // no message could carry it
	}
	if s.alike(m.self) {
		m.self = s
		return
	}
	if s.State == vrrp.Active && m.self.State != vrrp.Active {
		m.epoch++
	}
	m.self = s
	m.proven = m.proven || s.Fit
	m.grantor.follow(s.State)
	m.requester.follow(s.State)
	m.hello.changed(now)
}

// reconfigure with another group leaves the one and knows nobody of the other: a node that has not changed its addresses
// yet is met again when it has.
func (m *Machine) reconfigure(now time.Time, cfg Config) {
	old := m.cfg
	cfg.Address, cfg.Session, cfg.Node = old.Address, old.Session, old.Node
	if !cfg.Group.IsValid() {
		cfg.Group = old.Group
	}
	if cfg.Group != old.Group {
		m.goodbye()
		m.table.clear()
		m.hello.changed(now)
	}
	m.configure(cfg)
}

func (m *Machine) received(now time.Time, r Received) {
	r.Source = r.Source.WithZone("")
	if r.Refused != "" {
		m.reassert(now)
		return
	}
	if r.Source == m.cfg.Address || r.Message.Peer.Group != m.cfg.Group {
		return
	}
	if o := m.table.find(r.Source); o == nil || o.Session != r.Message.Session { // a node that was restarted knows nobody
		m.hello.met(now)
	}
	m.table.hear(r.arrived(now), r)
	m.table.forget(now) // it may have waited here for longer than it counts
	if o := m.table.find(r.Source); o != nil {
		if o.outdated(now) { // after a standstill it shows that the member was there, and no more
			return
		}
		m.heardClaim(now, o, r.arrived(now))
	}
	switch r.Message.Type {
	case Hello:
		m.act(m.grantor.heardRequester(r.Source, r.Message.Peer.State))
	case Request:
		m.requested(now, r)
	case Grant:
		m.granted(now, r)
	}
}

// heardClaim keeps what a message says about holding the address, and passes it on to the election if it is news.
func (m *Machine) heardClaim(now time.Time, o *Member, arrived time.Time) {
	own, hears := o.says(m.cfg.Session)
	claim := m.claimants.heardClaim(o, arrived, hears, m.bounds())
	if own.Missing || claim != nil {
		m.reassert(now)
	}
	m.act(claim)
}

// reassert lets one know that this node holds the address whose messages are refused, or who advertises, too: it may believe what it
// hears.
func (m *Machine) reassert(now time.Time) {
	if m.self.Claims {
		m.hello.answer(now)
	}
}

// accompany says with an advertisement what it says, if somebody does not hear the advertisements of this node.
func (m *Machine) accompany(now time.Time) {
	if m.self.Claims && now.After(m.hello.last) && m.table.anyMisses(m.cfg.Session) {
		m.hello.due = now
		m.sayHello(now)
	}
}

// requested has the grantor take in a REQUEST, if it is for this run and epoch of this node.
func (m *Machine) requested(now time.Time, r Received) {
	if d := r.Message.Transfer; d.To == m.cfg.Address && d.Session == m.cfg.Session && d.Epoch == m.epoch {
		m.act(m.grantor.requested(now, r, m.offer()))
	}
}

func (m *Machine) offer() offer {
	return offer{
		active: m.self.State == vrrp.Active, passive: m.cfg.Passive, fit: m.self.Fit, priority: m.self.Priority, only: m.self.For,
		within: grantWithin(m.cfg.Lease),
	}
}

// grant ends the time for which this node holds the address.
func (m *Machine) grant(now time.Time) {
	if m.self.State != vrrp.Active {
		return
	}
	grant := m.grantor.grant(m.epoch)
	if grant == nil {
		return
	}
	m.self.State, m.self.Claims = vrrp.Backup, false
	m.hello.changed(now)
	m.act(grant)
}

// granted has the requester take the address, if that was asked for, or wait for the node that has been given it.
func (m *Machine) granted(now time.Time, r Received) {
	switch d := r.Message.Transfer; {
	case d.To != m.cfg.Address:
		m.requester.grantedAnother(r.arrived(now))
	case d.Session == m.cfg.Session:
		m.act(m.requester.granted(now, r, grantWithin(m.cfg.Lease)))
	}
}

// seek does what is due towards having the address.
func (m *Machine) seek(now time.Time) {
	m.act(m.requester.seek(now, situation{
		address: m.cfg.Address, priority: m.self.Priority, ready: m.self.State == vrrp.Backup && m.self.Fit, passive: m.cfg.Passive,
		preempt: m.cfg.Preempt, preemptDelay: m.cfg.PreemptDelay, recovered: m.recovered(),
		holder: m.holder(now), asked: m.table.find(m.requester.from),
	}))
}

func (m *Machine) peerState() PeerState {
	s := m.self
	if s.Router != (Router{}) {
		s.Router.Addresses, s.Router.MTU = m.cfg.Addresses, m.cfg.MTU
	}
	return PeerState{
		Group: m.cfg.Group, Node: m.cfg.Node, Software: m.cfg.Software, Revision: Revision,
		State: s.State, Epoch: m.epoch, Base: s.Base, Priority: s.Priority,
		Fit: s.Fit, Proven: m.proven, Reason: s.Reason, Code: s.Code, NoCandidate: s.NoCandidate, Draining: s.Draining, For: s.For, Lifetime: lifetime(m.Every()),
		Claims: s.Claims, Router: s.Router, Spread: s.Spread,
	}
}

func (m *Machine) message(t Type, d Transfer) Message {
	f := m.peerState()
	f.Hears = m.claimants.hears(m.table.list)
	return Message{Type: t, Session: m.cfg.Session, Peer: f, Transfer: d}
}

// act has an action carried out; nil: none.
func (m *Machine) act(a Action) {
	if t, ok := a.(sendTransfer); ok {
		a = Send{m.message(t.kind, t.transfer)}
	}
	if a != nil {
		m.actions = append(m.actions, a)
	}
}

func (m *Machine) leave(why Leave) {
	m.self.Reason, m.self.Code = printable.Clean(why.Reason, maxReason), why.Code
	m.goodbye()
	m.left = true
}

// goodbye is heard as the last word, whatever the state.
func (m *Machine) goodbye() {
	msg := m.message(Hello, Transfer{})
	msg.Peer.State, msg.Peer.Fit, msg.Peer.Claims, msg.Peer.Lifetime, msg.Peer.Spread = vrrp.Initialize, false, false, 0, nil
	m.act(Send{msg})
}

// outranks compares two that ask: by priority, then by address.
func outranks(p uint8, a netip.Addr, q uint8, b netip.Addr) bool {
	if p != q {
		return p > q
	}
	return b.Less(a)
}
