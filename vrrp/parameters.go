package vrrp

import "time"

// parameters are what this router goes by, RFC 9568, section 6.1, and no state of the protocol.
type parameters struct {
	cfg      Config
	priority uint8         // effective
	last     bool          // SetLast's
	offset   time.Duration // SetTieBreakDelay's, uncapped
}

func (p *parameters) setPriority(priority uint8) {
	if priority == priorityOwner && p.cfg.Priority != priorityOwner {
		priority--
	}
	p.priority = max(priority, 1)
}

// said is the priority that an Active advertises.
func (p *parameters) said() uint8 {
	if p.last && p.priority != priorityOwner {
		return 1
	}
	return p.priority
}

// skewTime is Skew_Time for the given Active_Adver_Interval: RFC 9568, section 6.1, and for version 2 RFC 3768, section
// 6.1, where it does not depend on the interval.
func (p *parameters) skewTime(interval time.Duration) time.Duration {
	if p.cfg.Version == 2 {
		interval = time.Second
	}
	return interval * time.Duration(256-int(p.priority)) / 256
}

// activeDownInterval is Active_Down_Interval (RFC 9568, section 6.1) for the given Active_Adver_Interval.
func (p *parameters) activeDownInterval(interval time.Duration) time.Duration {
	return p.missed(interval) + p.skewTime(interval)
}

// missed is how long an Active may be silent: what Active_Down_Interval is without Skew_Time.
func (p *parameters) missed(interval time.Duration) time.Duration {
	return interval * time.Duration(p.cfg.DownTimerAdverts)
}
