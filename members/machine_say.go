package members

import "time"

// sayHello sends a HELLO if one is due. REQUEST and GRANT say the same, but not to one that has lost them.
func (m *Machine) sayHello(now time.Time) {
	if !m.hello.isDue(now) {
		return
	}
	msg := m.known.message(Hello, Transfer{})
	msg.Peer.Clients = m.known.own.clientsDue(now, msg)
	m.act(Send{msg})
	m.hello.sent(now, m.known.own.nextHello(now))
}

// reassert lets one know that this node holds the address whose messages are refused, or who advertises, too: it may believe what it
// hears.
func (m *Machine) reassert(now time.Time) {
	if m.known.own.self.Claims {
		m.hello.answer(now)
	}
}

// accompany says with an advertisement what it says, if somebody does not hear the advertisements of this node.
func (m *Machine) accompany(now time.Time) {
	if m.known.own.self.Claims && m.known.table.anyMisses(m.known.own.cfg.Session) && m.hello.along(now) {
		m.sayHello(now)
	}
}
