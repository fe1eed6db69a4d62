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

// adopt returns the Active_Adver_Interval that follows from an advertised one, and whether that is shorter.
func (c *claim) adopt(now time.Time, cfg *Config, interval time.Duration) (adopted time.Duration, bounded bool) {
	longest := cfg.LongestInterval()
	if interval <= longest {
		return interval, false
	}
	silent := now.Sub(c.last) > time.Duration(cfg.DownTimerAdverts+1)*interval
	if c.interval != interval || silent {
		*c = claim{interval: interval, first: now}
	}
	c.last = now
	if now.Sub(c.first) < longest {
		return longest, true
	}
	return interval, false
}
