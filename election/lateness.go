package election

import "time"

// latenessSpan is how long a span lasts of which the worst is kept; the present and the last one count.
const latenessSpan = time.Minute

// lateness keeps by how much timers were served late: the worst of the last one to two minutes. It is pure.
type lateness struct {
	start      time.Time // of the present span
	now, older time.Duration
}

func (l *lateness) note(at time.Time, late time.Duration) {
	l.turn(at)
	l.now = max(l.now, late)
}

func (l *lateness) worst(at time.Time) time.Duration {
	l.turn(at)
	return max(l.now, l.older)
}

func (l *lateness) turn(at time.Time) {
	switch gone := at.Sub(l.start); {
	case gone >= 2*latenessSpan:
		*l = lateness{start: at}
	case gone >= latenessSpan:
		*l = lateness{start: l.start.Add(latenessSpan), older: l.now}
	}
}
