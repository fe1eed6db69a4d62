package vrrp

import "time"

// gone makes a Backup Active: the Active that it follows cannot answer any more.
func (m *Machine) gone(now time.Time, g Gone) {
	if m.state == Backup && !m.cfg.Grouped && g.Source.IsValid() && g.Source.WithZone("") == m.backup.followed {
		reason := ReasonGone
		if g.Node {
			reason = ReasonNodeGone
		}
		m.becomeActive(now, reason)
	}
}

// assert sends an advertisement before it is due, but not more often than rivals are answered.
func (m *Machine) assert(now time.Time) {
	if m.state == Active && now.Sub(m.active.sent) >= answerGap && m.mayAnswer(now) {
		m.advertise(now)
	}
}
