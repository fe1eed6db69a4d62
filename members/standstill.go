package members

import "time"

// A process that has stood still, or was starved, finds all members too old at once: what they have said meanwhile waits to be read.
const (
	// lateAfter is by how much a look has to be late for that.
	lateAfter = 20 * time.Millisecond
	// readTime is how long the reader then has. In this time nobody is forgotten.
	readTime = 50 * time.Millisecond
	// readEvery is how often at most it has that: on a host that is always late the dead are forgotten, too.
	readEvery = time.Second
)

// standstill is the newest one that was noticed.
type standstill struct{ noticed time.Time }

// notice looks whether what was due then is late.
func (s *standstill) notice(now, due time.Time) {
	if !due.IsZero() && now.Sub(due) > lateAfter && now.Sub(s.noticed) > readEvery {
		s.noticed = now
	}
}

// ends is until when the reader has time; zero if there was no standstill.
func (s *standstill) ends() time.Time {
	if s.noticed.IsZero() {
		return time.Time{}
	}
	return s.noticed.Add(readTime)
}

// expire forgets the members that were silent for too long. Whoever asks first after a standstill, and about what, is not known.
func (m *Machine) expire(now time.Time) {
	due, _ := m.Deadline()
	m.standstill.notice(now, due)
	m.forget(now)
}

// forget does so within a Step, whose time has been looked at.
func (m *Machine) forget(now time.Time) {
	if !now.Before(m.standstill.ends()) {
		m.table.expire(now)
	}
}

// expireAt is when expire has something to do next; zero for never.
func (m *Machine) expireAt() time.Time {
	next := m.table.next()
	if next.IsZero() {
		return next
	}
	return later(next, m.standstill.ends())
}

// outdated tells that what a member has said waited for longer than it counts. It only shows, after a standstill, that the member was there.
func (m *Machine) outdated(now time.Time, r Received) bool {
	o := m.table.find(r.Source)
	return o != nil && !now.Before(o.expires())
}
