// Package spare lends slices that many goroutines fill for a moment each: one that each of hundreds kept would be empty for nearly all of the time.
package spare

import "sync"

// most is how many slices that nobody has wait to be lent again. A sync.Pool keeps all until the garbage is collected twice: 4 MiB with 255 entries.
const most = 16

// Slices are such slices. The zero Slices is ready. Safe for concurrent use.
type Slices[T any] struct {
	mu   sync.Mutex
	free [][]T
}

// Lend is an empty slice, nil where there is none to spare.
func (s *Slices[T]) Lend() []T {
	s.mu.Lock()
	defer s.mu.Unlock()
	last := len(s.free) - 1
	if last < 0 {
		return nil
	}
	out := s.free[last]
	s.free[last] = nil
	s.free = s.free[:last]
	return out
}

// Back gives one back, which nobody may look at any more: its elements are cleared.
func (s *Slices[T]) Back(b []T) {
	if cap(b) == 0 {
		return
	}
	clear(b[:cap(b)])
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.free) < most {
		s.free = append(s.free, b[:0])
	}
}
