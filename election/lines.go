package election

import "time"

// Lines bounds what a flood can write to a log: so many lines of a subject in a minute, and the first one after that tells how many
// were left out. The zero value is ready. Subjects are the program's, never a sender's. It is not safe for concurrent use.
type Lines struct {
	minute   time.Time // the budget counts from here
	subjects map[string]written
}

type written struct{ lines, left int }

// May tells whether another line of a subject may be written, of which most are written in a minute, and how many were left out
// since the last one.
func (l *Lines) May(now time.Time, subject string, most int) (left int, ok bool) {
	if now.Sub(l.minute) >= time.Minute || l.subjects == nil {
		l.begin(now)
	}
	w := l.subjects[subject]
	w.lines++
	if w.lines > most {
		w.left++
		l.subjects[subject] = w
		return 0, false
	}
	left, w.left = w.left, 0
	l.subjects[subject] = w
	return left, true
}

// begin keeps what was left out until it is told.
func (l *Lines) begin(now time.Time) {
	l.minute = now
	next := map[string]written{}
	for subject, w := range l.subjects {
		if w.left > 0 {
			next[subject] = written{left: w.left}
		}
	}
	l.subjects = next
}

// LeftOut appends to a line how many of its kind were left out before it.
func LeftOut(args []any, left int) []any {
	if left == 0 {
		return args
	}
	return append(args, "left out before", left)
}
