package lab

import (
	"math"
	"time"
)

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
