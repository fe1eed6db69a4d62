package vrrp

import "time"

// finalTimes are when a router that lost sends its last advertisements, counted from its change to Backup.
var finalTimes = [...]time.Duration{0, 20 * time.Millisecond, 50 * time.Millisecond}

// finalAdverts are the last advertisements of an Active that lost to a rival. They go out after the addresses are off, with
// the ordinary priority, and tell the winner that it had a rival: it then announces the addresses again, and so
// announces last. Priority 0 would not do: it makes third routers start a takeover. Several are sent, because one may
// be lost on a link that has just healed. None has a higher priority than the one that lost: a router that is well again a
// moment later would outbid the winner with it, and hold nothing.
type finalAdverts struct {
	began time.Time
	most  uint8 // priority
	next  int   // index into finalTimes
	on    bool
}

func (f *finalAdverts) start(now time.Time, priority uint8) {
	*f = finalAdverts{began: now, most: priority, on: true}
}

func (f *finalAdverts) stop() { *f = finalAdverts{} }

// deadline returns when the next one is due.
func (f *finalAdverts) deadline() (time.Time, bool) {
	if !f.on {
		return time.Time{}, false
	}
	return f.began.Add(finalTimes[f.next]), true
}

func (f *finalAdverts) due(now time.Time) bool {
	at, ok := f.deadline()
	return ok && !now.Before(at)
}

// advance goes on to the next one that is not due yet: a late process sends one, not a burst.
func (f *finalAdverts) advance(now time.Time) {
	for f.due(now) {
		f.next++
		if f.next == len(finalTimes) {
			f.stop()
		}
	}
}

// sendFinal sends one. It carries the longer of our interval and the winner's, because third routers adopt it.
func (m *Machine) sendFinal(now time.Time) {
	a := m.cfg.advertisement(min(m.priority, m.final.most))
	a.Interval = max(a.Interval, m.backup.interval)
	if m.backup.bounded {
		a.Interval = max(a.Interval, m.claim.interval)
	}
	m.actions = append(m.actions, Send{Advertisement: a})
	m.final.advance(now)
}
