package fence

import "time"

const (
	// collectFrom is from how many groups on a new fence waits for those that are about to join.
	collectFrom = 16
	// collectMost is for how long: they may be on several links, or some not join at all.
	collectMost = 50 * time.Millisecond
)

// Expect says how many groups will join at about the same time, on all links together. It counts for links on which there is none yet.
func (l *Links) Expect(groups int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.expected = groups
}

// collector has the first groups of a link put up in one transaction if there are many. That is cheaper, and so are all questions for their
// leases afterwards: the kernel finds a set by going through those of the table, and those of leases come first in each transaction.
func (l *onLink) collector(expected int) func(waiting func() int) {
	if expected < collectFrom {
		return nil
	}
	return func(waiting func() int) {
		if l.open != nil {
			return
		}
		for end := time.Now().Add(collectMost); waiting() < expected && time.Now().Before(end); {
			time.Sleep(time.Millisecond)
		}
	}
}
