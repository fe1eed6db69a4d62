package vrrp

import (
	"net/netip"
	"time"
)

// claimedInterval is what is adopted of an interval that a claim states: no more than [Config.LongestInterval], however often it is
// repeated, and only what an advertisement could say, because third routers are told of it ([Machine.sendFinal]). No check of the wire was
// made before, and a forged claim needs neither raw frames nor a matching VRID.
func (c Config) claimedInterval(stated time.Duration) time.Duration {
	if c.Version == 2 {
		return c.Interval
	}
	return max(min(stated, c.LongestInterval(), maxInterval).Truncate(centisecond), centisecond)
}

// claimed takes a claim for the advertisement that did not arrive.
func (m *Machine) claimed(now time.Time, c Claimed) {
	c.Source = c.Source.WithZone("")
	if c.Source == m.cfg.Source || c.Interval <= 0 {
		return
	}
	r := Received{Source: c.Source, Advertisement: Advertisement{Priority: c.Priority, Interval: m.cfg.claimedInterval(c.Interval)}, Age: c.Age}
	switch m.state {
	case Backup:
		m.follow(now, r)
	case Active:
		m.rivalClaims(now, r, c.Deaf)
	}
	if m.state == Backup && c.Deaf {
		m.outlast(now.Add(c.Lasts - c.Age))
	}
}

func (m *Machine) rivalClaims(now time.Time, r Received, deaf bool) {
	reason, lost := m.loses(r)
	switch {
	case lost:
		m.yield(now, r, reason)
	case deaf:
		m.enterBackup(now, ReasonSplit)
		m.follow(now, r)
	default:
		if now.Sub(m.active.sent) >= answerGap && m.mayAnswer(now) {
			m.advertise(now)
		}
		m.actions = append(m.actions, Reannounce{Rival: r.Source})
	}
}

// outlast lets the Active_Down_Timer expire at that time, if it would do so sooner.
func (m *Machine) outlast(end time.Time) {
	start := end.Add(-m.activeDownInterval(m.backup.interval))
	if start.After(m.backup.start) {
		m.backup.restart(start)
		m.backup.ahead = true
	}
}

func (m *Machine) disclaimed(now time.Time, source netip.Addr) {
	if m.state == Backup && m.backup.ahead && m.backup.followed == source {
		m.backup.restart(now)
	}
}
