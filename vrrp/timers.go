package vrrp

import "time"

// tieBreakShare is the part of the Active_Adver_Interval that a tie-break delay may take at most.
const tieBreakShare = 8

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
	return interval*time.Duration(m.cfg.DownTimerAdverts) + m.skewTime(interval)
}

// tieBreakDelay is the offset that SetTieBreakDelay asked for, capped.
func (m *Machine) tieBreakDelay() time.Duration {
	return min(m.offset, m.backup.interval/tieBreakShare)
}
