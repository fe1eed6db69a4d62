package health

import "time"

const (
	// calm is how long a healthy state has to last to make up for one fall.
	calm = time.Minute
	// dampFactor is what each further fall multiplies the rise by, dampMost how far in all. Both were found by simulation: see the
	// tests of noise.
	dampFactor, dampMost = 16, 24
)

// Gate turns results into a State. It is pure: the time comes from the caller. The zero Gate is not usable; see [NewGate].
//
//   - The first Pass since the start makes healthy at once, however many failures came before: nothing has flapped yet, and
//     kubeadm init waits for the address.
//
//   - Once it was healthy, fall Fails in a row make it unhealthy, and rise Passes in a row make it healthy again.
//
//   - A Down makes it unhealthy at once; as the first result since the start it needs a second one in a row.
//
//   - A gate that falls again and again is damped: after the second fall it takes 16 times the rise, from the third on 24 times,
//     but never longer than a bound that the caller may set. A Fail then costs a quarter of that count, not all that was counted.
//     Every minute of unbroken health makes up for one fall.
//
//   - While nobody else is good, the first Pass after a fall counts: damping decides who serves, and never whether anybody does.
//
// A plain gate counts as keepalived does: rise and fall in a row and nothing else, but that the first result counts alone.
type Gate struct {
	rise, fall int
	state      State
	since      time.Time
	streak     int
	proven     bool // was healthy once
	plain      bool
	begun      bool // has had a result
	falls      int  // from health, those made up for taken off
	calmFrom   time.Time
	most       int  // that damping makes of the rise; 0: no bound
	alone      bool // nobody else is good, as far as is known now
}

// NewGate makes a gate in state Unknown. Both counts are at least 1.
func NewGate(rise, fall int) *Gate {
	return &Gate{rise: max(rise, 1), fall: max(fall, 1)}
}

// distrust makes a new gate begin Unhealthy: no Pass counts alone.
func (g *Gate) distrust() { g.state, g.proven = Unhealthy, true }

// State is the state and when it began; the time is zero while Unknown.
func (g *Gate) State() (State, time.Time) { return g.state, g.since }

// Streak is how many results in a row, up to the last, spoke against the state. While damped it is the count so far.
func (g *Gate) Streak() int { return g.streak }

// Falls is how often the gate has lately fallen from health, and how many Passes in a row it therefore takes to rise.
func (g *Gate) Falls() (falls, rise int) {
	rise = g.rise * damping(g.falls)
	if g.most > 0 {
		rise = min(rise, max(g.rise, g.most))
	}
	return g.falls, rise
}

func damping(falls int) int {
	factor := 1
	for range min(falls-1, dampMost) {
		factor = min(factor*dampFactor, dampMost)
	}
	return factor
}

// Step takes one result and tells whether the state changed.
func (g *Gate) Step(now time.Time, r Result) (changed bool) {
	g.forget(now)
	if g.state != Unknown && g.since.IsZero() {
		g.since = now // of a gate that began so
	}
	verdict, need := g.weigh(r)
	g.begun = true
	if g.state == verdict {
		g.relapse(r)
		return false
	}
	g.streak++
	if g.streak < need {
		return false
	}
	if g.state == Healthy && !g.plain {
		g.falls++
	}
	g.state, g.since, g.calmFrom, g.streak = verdict, now, now, 0
	g.proven = g.proven || verdict == Healthy
	return true
}

// relapse takes a result that confirms the state. While damped, one bad probe among many good ones does not begin the long
// count anew: it costs a quarter of it, which noise never makes up for and a service that has recovered soon does.
func (g *Gate) relapse(r Result) {
	_, rise := g.Falls()
	if g.state == Unhealthy && rise > g.rise && r.Outcome != Down {
		g.streak = max(g.streak-rise/4, 0)
		return
	}
	g.streak = 0
}

// weigh is the state that a result speaks for, and how many such in a row it takes.
func (g *Gate) weigh(r Result) (verdict State, need int) {
	switch {
	case g.plain && !g.begun:
		if r.Outcome == Pass {
			return Healthy, 1
		}
		return Unhealthy, 1
	case r.Outcome == Pass && g.alone && g.falls > 0:
		return Healthy, 1
	case r.Outcome == Pass && (g.proven || g.plain):
		_, rise := g.Falls()
		return Healthy, rise
	case r.Outcome == Pass:
		return Healthy, 1
	case r.Outcome == Down && g.state == Unknown:
		return Unhealthy, min(2, g.fall)
	case r.Outcome == Down:
		return Unhealthy, 1
	}
	return Unhealthy, g.fall
}

// forget makes up for falls by unbroken health.
func (g *Gate) forget(now time.Time) {
	if g.state != Healthy {
		return
	}
	for ; g.falls > 0 && now.Sub(g.calmFrom) >= calm; g.falls-- {
		g.calmFrom = g.calmFrom.Add(calm)
	}
}
