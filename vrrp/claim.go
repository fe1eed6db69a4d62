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
		if _, lost := m.loses(r); c.Deaf && !lost {
			m.enterBackup(now, ReasonSplit)
			m.follow(now, r)
		} else {
			m.activeReceived(now, r)
		}
	}
	if m.state == Backup && c.Deaf {
		m.backup.outlast(now.Add(c.Lasts-c.Age), &m.parameters)
	}
}

// outlast lets the Active_Down_Timer expire at that time, if it would do so sooner.
func (b *backup) outlast(end time.Time, p *parameters) {
	start := end.Add(-p.activeDownInterval(b.interval))
	if start.After(b.start) {
		b.restart(start)
		b.ahead = true
	}
}

// disclaimed does nothing but to a Backup: a router of another state is ahead of no claim.
func (b *backup) disclaimed(now time.Time, source netip.Addr) {
	if b.ahead && b.followed == source {
		b.restart(now)
	}
}
