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
