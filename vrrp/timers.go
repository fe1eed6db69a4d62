package vrrp

import "time"

// tieBreakShare is the part of the Active_Adver_Interval that a tie-break delay may take at most.
const tieBreakShare = 8

// rankTime is the time between the turns of two equals: that of a packet, of a wakeup, and of what a busy machine adds.
const rankTime = 4 * time.Millisecond

// skewTime is Skew_Time for the given Active_Adver_Interval: RFC 9568, section 6.1, and for version 2 RFC 3768, section
// 6.1, where it does not depend on the interval.
func (m *Machine) skewTime(interval time.Duration) time.Duration {
	if m.cfg.Version == 2 {
		interval = time.Second
	}
	return interval * time.Duration(256-int(m.priority)) / 256
}

// activeDownInterval is Active_Down_Interval (RFC 9568, section 6.1) for the given Active_Adver_Interval.
func (m *Machine) activeDownInterval(interval time.Duration) time.Duration {
	return m.missed(interval) + m.skewTime(interval)
}

// missed is how long an Active may be silent: what Active_Down_Interval is without Skew_Time.
func (m *Machine) missed(interval time.Duration) time.Duration {
	return interval * time.Duration(m.cfg.DownTimerAdverts)
}

// turn is what a Backup waits when the Active is silent, or has given up: Skew_Time puts routers of different
// priorities in an order, and the tie-break delay those of the same. Where all are known and equal, their rank alone
// does, so close together that the last has no longer to wait than Skew_Time.
func (m *Machine) turn() time.Duration {
	skew := m.skewTime(m.backup.interval)
	if e := m.backup.equals; e.Of > 0 && m.backup.level == m.priority {
		return time.Duration(e.Rank) * min(rankTime, skew/time.Duration(e.Of))
	}
	return skew + min(m.offset, m.backup.interval/tieBreakShare)
}
