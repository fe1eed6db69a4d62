package lab

import (
	"math"
	"time"
)

// Excuses tells that something that came to light at an instant may have begun by a standstill: that within the second before it the machine,
// or an ordinary process on it, stood still for so long in all. A standstill at any other time explains nothing.
func (r *Report) Excuses(at, limit time.Duration) bool {
	return r.Standstill(at-time.Second, at) >= limit
}

// Excused is until when something may last that was due by an instant, on a machine that stood still from an instant on. Each standstill
// that begins before that end moves it by its own length, and more than a limit of them within a second by a cost, too: by what the
// protocol under test does about a node that does not run for so long. A standstill after that end explains nothing.
func (r *Report) Excused(from, due, limit, cost time.Duration) time.Duration {
	var recent []Stall // of the last second, since a cost was added
	for _, s := range r.spells(from, math.MaxInt64) {
		if s.At > due {
			break
		}
		due += s.Length
		sum := s.Length
		for i := len(recent) - 1; i >= 0 && s.At-recent[i].At < time.Second; i-- {
			sum += recent[i].Length
		}
		if recent = append(recent, s); sum > limit {
			due, recent = due+cost, nil
		}
	}
	return due
}
