// Package nudge has a goroutine look again, however busy it is now.
package nudge

// Signal is a level: what is sent while nobody receives is received once.
type Signal chan struct{}

// New makes a Signal.
func New() Signal { return make(Signal, 1) }

// Send never blocks.
func (s Signal) Send() {
	select {
	case s <- struct{}{}:
	default:
	}
}
