package vrrp

import "time"

// longestTimes is how many times our own Advertisement_Interval one advertisement may make a Backup wait by.
const longestTimes = 10

// LongestInterval is the longest Active_Adver_Interval that is adopted from one advertisement: ten times the own Interval, or
// StartupInterval if that is more. RFC 9568, section 6.4.2, has no such bound: one forged packet with 40.95 s would silence
// the addresses for two minutes. A longer one is adopted when it is heard again. With version 2 intervals are equal.
func (c Config) LongestInterval() time.Duration {
	if c.Version == 2 {
		return c.Interval
	}
	return max(longestTimes*c.Interval, c.StartupInterval)
}

// claim is an interval above LongestInterval that was advertised. From whom does not matter: a forger chooses the source.
type claim struct {
	interval    time.Duration
	first, last time.Time // heard
}

// adopt returns the Active_Adver_Interval that follows from an advertisement.
func (m *Machine) adopt(now time.Time, r Received) time.Duration {
	interval, longest := r.Advertisement.Interval, m.cfg.LongestInterval()
	m.backup.bounded = interval > longest
	if !m.backup.bounded {
		return interval
	}
	c := &m.claim
	silent := now.Sub(c.last) > time.Duration(m.cfg.DownTimerAdverts+1)*interval
	if c.interval != interval || silent {
		*c = claim{interval: interval, first: now}
	}
	c.last = now
	if now.Sub(c.first) < longest {
		return longest
	}
	m.backup.bounded = false
	return interval
}

// ask sends an advertisement before this Backup takes over from a router that may advertise less often than it is waited for. An
// Active that is alive answers at once (section 6.4.3), and has then said its interval twice; one of lower priority yields.
func (m *Machine) ask() {
	m.backup.asked = true
	m.send(m.priority)
}
