package fence

import "time"

const (
	// gatherFrom is from how many groups on a new fence waits for those that are about to join.
	gatherFrom = 16
	// gatherMost is for how long: they may be on several links, or some not join at all.
	gatherMost = 50 * time.Millisecond
)

// Expect says how many groups will join at about the same time, on all links together. It counts for links on which there is none yet.
func (l *Links) Expect(groups int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.expected = groups
}

// gatherer has the first groups of a link put up in one transaction if there are many. That is cheaper, and so are all questions for their
// leases afterwards: the kernel finds a set by going through those of the table, and those of leases come first in each transaction.
func (l *onLink) gatherer(expected int) func(waiting func() int) {
	if expected < gatherFrom {
		return nil
	}
	return func(waiting func() int) {
		if l.open != nil {
			return
		}
		for end := time.Now().Add(gatherMost); waiting() < expected && time.Now().Before(end); {
			time.Sleep(time.Millisecond)
		}
	}
}
