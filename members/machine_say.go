package members

import (
	"time"

	"github.com/keepvip/keepvip/vrrp"
)

func (m *Machine) message(t Type, d Transfer) Message {
	f := m.own.peerState()
	f.Hears = m.claimants.hears(m.table.list)
	if o := m.table.find(m.own.self.Unanswered); o != nil {
		f.Unanswered = o.Session
	}
	if o := m.table.find(m.own.self.Unreached); o != nil {
		f.Unreached, f.NeverReached = o.Session, m.own.self.NeverReached
	}
	return Message{Type: t, Session: m.own.cfg.Session, Peer: f, Transfer: d}
}

// sayHello sends a HELLO if one is due. REQUEST and GRANT say the same, but not to one that has lost them.
func (m *Machine) sayHello(now time.Time) {
	if !m.hello.isDue(now) {
		return
	}
	msg := m.message(Hello, Transfer{})
	msg.Peer.Clients = m.own.clientsDue(now, msg)
	m.act(Send{msg})
	m.hello.sent(now, m.own.nextHello(now))
}

// reassert lets one know that this node holds the address whose messages are refused, or who advertises, too: it may believe what it
// hears.
func (m *Machine) reassert(now time.Time) {
	if m.own.self.Claims {
		m.hello.answer(now)
	}
}

// accompany says with an advertisement what it says, if somebody does not hear the advertisements of this node.
func (m *Machine) accompany(now time.Time) {
	if m.own.self.Claims && m.table.anyMisses(m.own.cfg.Session) && m.hello.along(now) {
		m.sayHello(now)
	}
}

// goodbye is heard as the last word, whatever the state.
func (m *Machine) goodbye() {
	msg := m.message(Hello, Transfer{})
	msg.Peer.State, msg.Peer.Fit, msg.Peer.Claims, msg.Peer.Lifetime, msg.Peer.Spread = vrrp.Initialize, false, false, 0, nil
	m.act(Send{msg})
}
