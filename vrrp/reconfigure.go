package vrrp

import (
	"slices"
	"time"
)

// reconfigure takes over a valid configuration of the same Virtual Router.
func (m *Machine) reconfigure(now time.Time, cfg Config) {
	same := cfg.Version == m.cfg.Version && cfg.VRID == m.cfg.VRID && cfg.Source.BitLen() == m.cfg.Source.BitLen()
	if !same || cfg.Validate() != nil {
		return
	}
	old, oldPriority := m.cfg, m.said()
	m.cfg = cfg.normalized()
	if m.cfg.Priority != old.Priority {
		m.priority = m.cfg.Priority
	}
	m.reconfigureTimers(old)
	if m.state == Active && !equalAdverts(old.advertisement(m.priority), m.cfg.advertisement(m.priority)) {
		m.advertise(now)
		return
	}
	m.priorityChanged(now, oldPriority)
}

// reconfigureTimers leaves a Backup the interval of the Active that it follows.
func (m *Machine) reconfigureTimers(old Config) {
	switch {
	case m.state == Active:
		if m.cfg.Interval > old.Interval {
			m.active.pace, m.active.paced = old.Interval, pacedAdverts
		} else if m.cfg.Interval < old.Interval {
			m.active.paced = 0
		}
		m.backup.interval = m.cfg.Interval
	case m.cfg.Version == 2:
		m.backup.interval = m.cfg.Interval
	case !m.backup.followed.IsValid() && !m.backup.gaveUp:
		m.backup.interval = max(m.cfg.Interval, m.cfg.StartupInterval)
	}
}

func equalAdverts(a, b Advertisement) bool {
	return a.Version == b.Version && a.VRID == b.VRID && a.Priority == b.Priority && a.Interval == b.Interval &&
		a.AuthType == b.AuthType && a.AuthData == b.AuthData && slices.Equal(a.Addresses, b.Addresses)
}
