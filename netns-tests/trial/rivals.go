package trial

import "time"

// rivals sums up how long two nodes answered in several runs. On a machine on which ordinary processes stand still for longer than an
// interval two nodes are holders by the protocol: such runs are told apart.
type rivals struct {
	runs, starved   int
	two, starvedTwo time.Duration
	outage          time.Duration
}

func (r *rivals) add(g *Group, res *Result) {
	r.runs++
	s := g.Settings[0]
	if res.Two > 0 && res.Report.Starving(res.FaultAt-s.downInterval()-s.Interval, res.Report.Ended, s.Interval) {
		r.starved++
		r.starvedTwo = max(r.starvedTwo, res.Two)
		return
	}
	r.two, r.outage = max(r.two, res.Two), max(r.outage, res.Outage)
}

func (r *rivals) findings(what string) Findings {
	out := Findings{took(what+"two nodes answering", r.two, 0), told(what+"longest outage", r.outage)}
	if r.starved > 0 {
		out = append(out,
			Measured{What: what + "runs left out for a starved machine", Got: float64(r.starved), Limit: -1, Unit: "times"},
			told(what+"two nodes answering in those", r.starvedTwo))
	}
	return out
}
