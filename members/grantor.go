package members

import (
	"net/netip"
	"slices"
	"time"

	"github.com/keepvip/keepvip/vrrp"
)

const (
	// collectTime is how long the holder waits for others that ask too, so that it can choose.
	collectTime = 10 * time.Millisecond
	// forwardTime is how long a node that has passed the address on goes on forwarding at most.
	forwardTime = 300 * time.Millisecond
)

// grantor is what a node knows that holds the address, or has passed it on.
type grantor struct {
	asked  []ask
	decide time.Time // when to choose; zero when nobody has asked
	chosen *chosen
	passed *passed
}

// ask is one REQUEST that could be granted.
type ask struct {
	from     netip.Addr
	session  uint64
	priority uint8
	nonce    uint64
}

// chosen is the one to whom the address is to be passed on.
type chosen struct {
	ask
	at time.Time
}

// passed is a GRANT that was given.
type passed struct {
	to       netip.Addr
	session  uint64
	epoch    uint64 // our own, that ended
	at       time.Time
	released bool
}

func (h *grantor) deadline() time.Time {
	if h.passed != nil && !h.passed.released {
		return h.passed.at.Add(forwardTime)
	}
	return h.decide
}

// follow forgets what another state has made void. A Backup that has passed the address on remembers it.
func (h *grantor) follow(s vrrp.State) {
	if s != vrrp.Active {
		h.asked, h.decide, h.chosen = nil, time.Time{}, nil
	}
	if s != vrrp.Backup {
		h.passed = nil
	}
}

// grantWithin is how long after a REQUEST its GRANT may be taken, and after the first GRANT another be given: two thirds of
// the lease in all. Before the lease is over nobody else answers: neither the one that has passed the address on, nor a
// third that may have heard its last advertisement a whole interval, a third of the lease, earlier. So two never answer,
// however late a message comes.
func grantWithin(lease time.Duration) time.Duration { return lease / 3 }

func (m *Machine) requested(now time.Time, r Received) {
	d := r.Message.Transfer
	if d.To != m.cfg.Address || d.Session != m.cfg.Session || d.Epoch != m.epoch {
		return
	}
	a := ask{from: r.Source, session: r.Message.Session, priority: r.Message.Peer.Priority, nonce: d.Nonce}
	if p := m.grantor.passed; p != nil {
		m.repeat(now, a)
		return
	}
	if m.self.State != vrrp.Active || m.cfg.Passive || !r.Message.Peer.Fit || r.Message.Peer.State != vrrp.Backup || !m.mayHave(a) {
		return
	}
	h := &m.grantor
	h.asked = slices.DeleteFunc(h.asked, func(o ask) bool { return o.from == a.from })
	h.asked = append(h.asked, a)
	if len(h.asked) > maxMembers { // the one that ranks lowest would not be chosen
		lowest := slices.MinFunc(h.asked, rank).from
		h.asked = slices.DeleteFunc(h.asked, func(o ask) bool { return o.from == lowest })
	}
	if h.decide.IsZero() {
		h.decide = now.Add(min(collectTime, grantWithin(m.cfg.Lease)/4))
	}
}

// repeat gives the same node the GRANT again, which it has not heard.
func (m *Machine) repeat(now time.Time, a ask) {
	p := m.grantor.passed
	if a.from == p.to && a.session == p.session && now.Sub(p.at) < grantWithin(m.cfg.Lease) {
		m.act(Send{m.message(Grant, Transfer{To: a.from, Session: a.session, Epoch: p.epoch, Nonce: a.nonce})})
	}
}

// grantWhenDue passes the address on when it is time, and lets go when the requester had time enough. It tells whether it passes it on.
func (m *Machine) grantWhenDue(now time.Time) bool {
	h := &m.grantor
	if p := h.passed; p != nil && !p.released && now.Sub(p.at) >= forwardTime {
		m.release(false)
	}
	if m.self.State != vrrp.Active || h.decide.IsZero() || now.Before(h.decide) && !m.allAsked() {
		return false
	}
	h.decide, h.chosen = time.Time{}, nil
	asked := slices.DeleteFunc(h.asked, func(a ask) bool { return !m.mayHave(a) })
	h.asked = nil
	if len(asked) == 0 {
		return false
	}
	a := slices.MaxFunc(asked, rank)
	h.chosen = &chosen{a, now}
	m.act(Pass{To: a.from})
	return true
}

// rank puts the one that is to have the address last.
func rank(a, b ask) int {
	if outranks(a.priority, a.from, b.priority, b.from) {
		return 1
	}
	return -1
}

// mayHave tells whether one that asks may have the address: from a holder that wants to give it away, or has the lower
// priority.
func (m *Machine) mayHave(a ask) bool {
	if !m.self.Fit {
		return !m.self.For.IsValid() || m.self.For == a.from
	}
	return a.priority > m.self.Priority
}

// allAsked tells that nobody else is known that could ask.
func (m *Machine) allAsked() bool {
	return !slices.ContainsFunc(m.table.list, func(o Member) bool {
		candidate := o.Peer.Fit && o.Peer.State == vrrp.Backup &&
			m.mayHave(ask{from: o.Address, priority: o.Peer.Priority})
		return candidate && !slices.ContainsFunc(m.grantor.asked, func(a ask) bool { return a.from == o.Address })
	})
}

// grant ends the time for which this node holds the address. The time of the choice counts, since when no advertisement has left.
func (m *Machine) grant(now time.Time) {
	c := m.grantor.chosen
	if c == nil || m.self.State != vrrp.Active {
		return
	}
	m.grantor.chosen = nil
	m.grantor.passed = &passed{to: c.from, session: c.session, epoch: m.epoch, at: c.at}
	m.self.State, m.self.Claims = vrrp.Backup, false
	m.hello.changed(now)
	m.act(Send{m.message(Grant, Transfer{To: c.from, Session: c.session, Epoch: m.epoch, Nonce: c.nonce})})
}

// heardRequester lets go when the requester says that it is Active: by then it has announced.
func (m *Machine) heardRequester(r Received) {
	p := m.grantor.passed
	if p != nil && !p.released && r.Source == p.to && r.Message.Peer.State == vrrp.Active {
		m.release(true)
	}
}

func (m *Machine) release(heard bool) {
	m.grantor.passed.released = true
	m.act(Release{To: m.grantor.passed.to, Heard: heard})
}
