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
	if m.priority == old.Priority { // otherwise SetPriority decides: no change makes a node fit for a moment that is not
		m.priority = m.cfg.Priority
	}
	if m.state == Active {
		m.active.repace(old.Interval, m.cfg.Interval)
		m.backup.interval = m.cfg.Interval
	} else {
		m.backup.reconfigured(&m.cfg)
	}
	if m.state == Active && !equalAdverts(old.advertisement(m.priority), m.cfg.advertisement(m.priority)) {
		m.advertise(now)
		return
	}
	m.priorityChanged(now, oldPriority)
}

// reconfigured leaves a Backup the interval of the Active that it follows.
func (b *backup) reconfigured(cfg *Config) {
	switch {
	case cfg.Version == 2:
		b.interval = cfg.Interval
	case !b.followed.IsValid() && !b.gaveUp:
		b.interval = max(cfg.Interval, cfg.StartupInterval)
	}
}

func equalAdverts(a, b Advertisement) bool {
	return a.Version == b.Version && a.VRID == b.VRID && a.Priority == b.Priority && a.Interval == b.Interval &&
		a.AuthType == b.AuthType && a.AuthData == b.AuthData && slices.Equal(a.Addresses, b.Addresses)
}
