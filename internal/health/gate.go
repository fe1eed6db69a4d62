package health

import "time"

// Gate turns results into a State. It is pure: the time comes from the caller. The zero Gate is not usable; see [NewGate].
//
//   - The first Pass since the start makes healthy at once, however many failures came before: nothing has flapped yet, and
//     kubeadm init waits for the address.
//   - Once it was healthy, fall Fails in a row make ill, and rise Passes in a row make healthy again.
//   - A Down makes ill at once, in any state.
type Gate struct {
	rise, fall int
	state      State
	since      time.Time
	streak     int
	proven     bool // was healthy once
}

// NewGate makes a gate in state Unknown. Both counts are at least 1.
func NewGate(rise, fall int) *Gate {
	return &Gate{rise: max(rise, 1), fall: max(fall, 1)}
}

// State is the state and when it began; the time is zero while Unknown.
func (g *Gate) State() (State, time.Time) { return g.state, g.since }

// Streak is how many results in a row, up to the last, spoke against the state.
func (g *Gate) Streak() int { return g.streak }

// Step takes one result and tells whether the state changed.
func (g *Gate) Step(now time.Time, r Result) (changed bool) {
	verdict, need := Unhealthy, g.fall
	switch {
	case r.Outcome == Down:
		need = 1
	case r.Outcome == Pass && g.proven:
		verdict, need = Healthy, g.rise
	case r.Outcome == Pass:
		verdict, need = Healthy, 1
	}
	if g.state == verdict {
		g.streak = 0
		return false
	}
	g.streak++
	if g.streak < need {
		return false
	}
	g.state, g.since, g.streak = verdict, now, 0
	g.proven = g.proven || verdict == Healthy
	return true
}
