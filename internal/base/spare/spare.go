// Package spare lends slices that many goroutines fill for a moment each: one that each of hundreds kept would be empty for nearly all of the time.
package spare

import "sync"

// Slices are such slices. The zero Slices is ready. Safe for concurrent use.
type Slices[T any] struct{ pool sync.Pool }

// Lend is an empty slice, nil where there is none to spare.
func (s *Slices[T]) Lend() []T {
	if b, ok := s.pool.Get().(*[]T); ok {
		return *b
	}
	return nil
}

// Back gives one back, which nobody may look at any more: its elements are cleared.
func (s *Slices[T]) Back(b []T) {
	if cap(b) == 0 {
		return
	}
	clear(b[:cap(b)])
	b = b[:0]
	s.pool.Put(&b)
}
