package arp

import (
	"cmp"
	"slices"
	"time"
)

// defaultBurst are the times of the repeats after an address was bound, counted from then. The first is at once. The second makes up for one
// lost frame before a person or a time-out notices. The gaps then double, because what is still in the way (a switch that learns, a port that
// comes up, a neighbour that will not change a fresh entry twice within a second) takes longer and longer, and the last comes after all of it.
var defaultBurst = []time.Duration{0, 20 * time.Millisecond, 100 * time.Millisecond, 300 * time.Millisecond, 700 * time.Millisecond, 1500 * time.Millisecond}

// defaultRefresh is the time between two announcements in quiet times: often enough to heal a neighbour that missed the burst.
const defaultRefresh = 60 * time.Second

// gap is the time between announcements that are only to make up for a lost frame.
const gap = 20 * time.Millisecond

// Burst are the times of a burst of so many announcements, at least one: the first of defaultBurst, and what is beyond these between them. A delay of more than 0 adds the same once more, so long after the first.
func Burst(repeat int, delay time.Duration) []time.Duration {
	out := slices.Clone(defaultBurst[:min(max(repeat, 1), len(defaultBurst))])
	for i := len(out); i < repeat; i++ {
		out = append(out, defaultBurst[1]+gap/2+time.Duration(i-len(defaultBurst)+1)*gap) // at none of those moments
	}
	if n := len(out); delay > 0 {
		for _, at := range out[:n:n] {
			out = append(out, delay+at)
		}
	}
	slices.Sort(out)
	return out
}

// Schedule says when to announce the addresses of one interface. It is pure: it reads no clock and sends nothing. A new one is stopped.
type Schedule struct {
	burst   []time.Duration // offsets from Restart, ascending
	refresh time.Duration   // the longest time without an announcement, also within a burst; less than 0 is never
	repeat  int             // announcements of each refresh, close together
	started time.Time
	sent    int // announcements of the burst that are over
	again   int // and of a refresh
	next    time.Time
	running bool
}

// NewSchedule returns a stopped Schedule. burst are the offsets from Restart, ascending; nil is defaultBurst. refresh is
// the longest time without an announcement; 0 is defaultRefresh, less than 0 is never. repeat is how many announcements
// each refresh has; 0 is 1.
func NewSchedule(burst []time.Duration, refresh time.Duration, repeat int) *Schedule {
	if burst == nil {
		burst = defaultBurst
	}
	return &Schedule{burst: slices.Clone(burst), refresh: cmp.Or(refresh, defaultRefresh), repeat: max(repeat, 1)}
}

// Restart begins the burst, again if it is running: after binding, when the link comes up, when a rival was heard.
func (s *Schedule) Restart(now time.Time) {
	s.started, s.sent, s.again, s.running = now, 0, 0, true
	s.plan(now)
}

// Stop ends it: the addresses are no longer ours to announce.
func (s *Schedule) Stop() { s.running = false }

// Next is when the next announcement is due; false if none is.
func (s *Schedule) Next() (time.Time, bool) { return s.next, s.running }

// Due reports whether an announcement is due at now and, if so, takes it off the schedule. A caller that comes late is told once, not once
// for each that it missed.
func (s *Schedule) Due(now time.Time) bool {
	if !s.running || now.Before(s.next) {
		return false
	}
	for s.sent < len(s.burst) && !now.Before(s.started.Add(s.burst[s.sent])) {
		s.sent++
	}
	s.plan(now)
	return true
}

// plan sets the next announcement after the one at now.
func (s *Schedule) plan(now time.Time) {
	next, again, more := now.Add(s.refresh), s.repeat-1, s.refresh > 0
	if s.again > 0 {
		next, again, more = now.Add(gap), s.again-1, true
	}
	if s.sent < len(s.burst) {
		if at := s.started.Add(s.burst[s.sent]); !more || !at.After(next) {
			next, again, more = at, s.again, true
		}
	}
	s.next, s.again, s.running = next, again, more
}
