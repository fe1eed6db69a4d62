package vrrp

import "time"

// gone makes a Backup Active, or one that is Grouped ready to be: the Active that it follows cannot answer any more.
func (m *Machine) gone(now time.Time, g Gone) {
	if m.state != Backup || !g.Source.IsValid() || g.Source.WithZone("") != m.backup.followed {
		return
	}
	reason := ReasonGone
	if g.Node {
		reason = ReasonNodeGone
	}
	if m.cfg.Grouped {
		m.backup.ready = reason
		return
	}
	m.becomeActive(now, reason)
}

// assert sends an advertisement before it is due, but not more often than rivals are answered.
func (m *Machine) assert(now time.Time) {
	if m.state == Active && m.active.mayAnswer(now, m.cfg.Interval) {
		m.advertise(now)
	}
}
