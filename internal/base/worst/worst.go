// Package worst keeps the greatest of what was measured lately. It is pure, and has no goroutines.
package worst

import "time"

// span is how long a span lasts of which the greatest is kept; the present and the last one count.
const span = time.Minute

// Lately is the greatest duration of the last one to two minutes. The zero Lately has measured nothing.
type Lately struct {
	start      time.Time // of the present span
	now, older time.Duration
}

// Note takes in what was measured at a time.
func (l *Lately) Note(at time.Time, d time.Duration) {
	l.turn(at)
	l.now = max(l.now, d)
}

// Worst is the greatest, as of then; 0 for nothing.
func (l *Lately) Worst(at time.Time) time.Duration {
	l.turn(at)
	return max(l.now, l.older)
}

func (l *Lately) turn(at time.Time) {
	switch gone := at.Sub(l.start); {
	case gone >= 2*span:
		*l = Lately{start: at}
	case gone >= span:
		*l = Lately{start: l.start.Add(span), older: l.now}
	}
}
