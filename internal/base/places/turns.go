package places

import "time"

// shortestPause ends each turn, however long that took.
const shortestPause = time.Millisecond

// Turns has whatever else is due run between callers: in a flood a loop that accepts them would never wait by itself. The zero value ends no
// turn. It is for the goroutine that accepts.
type Turns struct {
	Of    int           // callers in a turn, at most, whether they are taken or refused
	Least time.Duration // how long a turn lasts at least, with the pause that ends it

	seen   int       // callers so far
	paused time.Time // end of the last pause
}

// Next counts a caller, and pauses when its turn is over. A real-time process wakes up from a sleep when it asked to, an ordinary one later, so
// the shortest pause alone bounds the two differently.
func (t *Turns) Next() {
	if t.seen++; t.Of == 0 || t.seen%t.Of != 0 {
		return
	}
	time.Sleep(max(shortestPause, t.Least-time.Since(t.paused)))
	t.paused = time.Now()
}
