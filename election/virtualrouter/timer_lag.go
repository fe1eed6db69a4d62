package virtualrouter

import "time"

// timerLagSpan is how long a span lasts of which the worst is kept; the present and the last one count.
const timerLagSpan = time.Minute

// timerLag keeps by how much timers were served late: the worst of the last one to two minutes. It is pure.
type timerLag struct {
	start      time.Time // of the present span
	now, older time.Duration
}

func (l *timerLag) note(at time.Time, late time.Duration) {
	l.turn(at)
	l.now = max(l.now, late)
}

func (l *timerLag) worst(at time.Time) time.Duration {
	l.turn(at)
	return max(l.now, l.older)
}

func (l *timerLag) turn(at time.Time) {
	switch gone := at.Sub(l.start); {
	case gone >= 2*timerLagSpan:
		*l = timerLag{start: at}
	case gone >= timerLagSpan:
		*l = timerLag{start: l.start.Add(timerLagSpan), older: l.now}
	}
}
