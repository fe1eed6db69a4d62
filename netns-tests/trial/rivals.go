package trial

import "time"

// rivals sums up several runs after each of which one node had to be silent. That others compete at the same time is told, but proves
// nothing: on a machine that starves its processes they do so by the protocol.
type rivals struct{ beside, two, outage time.Duration }

// add takes in a run, in which the old holder had to be silent up to the instant of that name.
func (r *rivals) add(res *Result, until time.Duration) {
	r.beside = max(r.beside, res.Report.Beside(res.Victim, res.FaultAt, until))
	r.two, r.outage = max(r.two, res.Two), max(r.outage, res.Outage)
}

func (r *rivals) findings() Findings {
	return Findings{
		took("the old holder beside another", r.beside, 0), told("any two nodes", r.two), told("longest outage", r.outage),
	}
}
