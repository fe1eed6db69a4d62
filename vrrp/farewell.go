package vrrp

import "time"

// farewellTimes are when a router that lost sends its last advertisements, counted from its change to Backup.
var farewellTimes = [...]time.Duration{0, 20 * time.Millisecond, 50 * time.Millisecond}

// farewell is the last advertisements of an Active that lost to a rival. They go out after the addresses are off, with
// the ordinary priority, and tell the winner that it had a rival: it then announces the addresses again, and so
// announces last. Priority 0 would not do: it makes third routers start a takeover. Several are sent, because one may
// be lost on a link that has just healed. None has a higher priority than the one that lost: a router that is well again a
// moment later would outbid the winner with it, and hold nothing.
type farewell struct {
	began time.Time
	most  uint8 // priority
	next  int   // index into farewellTimes
	on    bool
}

func (f *farewell) start(now time.Time, priority uint8) {
	*f = farewell{began: now, most: priority, on: true}
}

func (f *farewell) stop() { *f = farewell{} }

// deadline returns when the next one is due.
func (f *farewell) deadline() (time.Time, bool) {
	if !f.on {
		return time.Time{}, false
	}
	return f.began.Add(farewellTimes[f.next]), true
}

func (f *farewell) due(now time.Time) bool {
	at, ok := f.deadline()
	return ok && !now.Before(at)
}

// advance goes on to the next one that is not due yet: a late process sends one, not a burst.
func (f *farewell) advance(now time.Time) {
	for f.due(now) {
		f.next++
		if f.next == len(farewellTimes) {
			f.stop()
		}
	}
}

// sendFarewell sends one. It carries the longer of our interval and the winner's, because third routers adopt it.
func (m *Machine) sendFarewell(now time.Time) {
	a := m.cfg.advertisement(min(m.priority, m.farewell.most))
	a.Interval = max(a.Interval, m.backup.interval)
	if m.backup.bounded {
		a.Interval = max(a.Interval, m.claim.interval)
	}
	m.actions = append(m.actions, Send{Advertisement: a})
	m.farewell.advance(now)
}
