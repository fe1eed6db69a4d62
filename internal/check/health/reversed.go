package health

import "context"

// Reversed makes a Prober that is good where p is bad, and bad where p is good, as for a service that has to run on one node only. What is
// bad then needs counting, as every failure does. A p that is a [watcher] stays one.
func Reversed(p Prober) Prober {
	if w, ok := p.(watcher); ok {
		return watching{reversed{p}, w}
	}
	return reversed{p}
}

type reversed struct{ prober Prober }

// Probe implements [Prober].
func (r reversed) Probe(ctx context.Context) Result {
	found := r.prober.Probe(ctx)
	if found.Outcome == Unasked {
		return found
	}
	out := Result{Outcome: Fail, Reason: "reversed: " + found.Reason, Expires: found.Expires}
	if found.Outcome != Pass {
		out.Outcome = Pass
	}
	return out
}
