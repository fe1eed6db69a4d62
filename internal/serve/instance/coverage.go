package instance

import (
	"context"
	"time"

	"github.com/keepvip/keepvip/election"
	"github.com/keepvip/keepvip/internal/base/code"
)

// refusedPriority is that of a node at whose address nothing listens. It is the least of those that are fit: 1 is that of nodes that are not.
const refusedPriority = 2

// coverTime bounds a look at whether a service listens at the addresses.
const coverTime = 300 * time.Millisecond

// cover looks whether clients would be refused at the addresses, though the service is well: it listens somewhere else.
func (i *instance) cover(ctx context.Context) {
	v := i.shared.now()
	if v.cfg.Uncovered == nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, coverTime)
	defer cancel()
	why := v.cfg.Uncovered(ctx, v.state == election.Active)
	if why == v.uncovered {
		return
	}
	switch {
	case why != "":
		i.log.Warn("nothing listens at the address: clients of the holder are refused", "code", string(code.NotCovered), "reason", why,
			"remedy", code.NotCovered.Entry().Remedy)
	default:
		i.log.Info("the service listens at the address")
	}
	i.shared.tell(func(v *view) { v.uncovered = why })
}

// fitness is what the elector is told. A node at whose addresses nothing listens comes after every other that is fit. It stays fit: where no node is
// better nothing moves, and it takes the address over as before.
func (v *view) fitness() election.Fitness {
	f := v.cfg.Leaving.fitness(v.cfg.combine(v.desired, v.said(), v.blocked))
	reason, why := v.uncovered, code.NotCovered
	if v.lacking != "" {
		reason, why = v.lacking, code.FamilyMissing
	}
	if reason == "" || f.Out || f.Less >= lastPlace {
		return f
	}
	if v.lacking != "" && v.cfg.vrrp() && !v.cfg.VIP.VRRP.Preempt { // a fit holder of whatever priority would not be asked
		f.Less = lastPlace
	}
	var weights []int
	for _, c := range v.cfg.Checks {
		weights = append(weights, MostOf(c.Weight, c.Numbered))
	}
	f.Less = max(f.Less, int(TopPriority(v.cfg.VIP.Priority, weights...))-refusedPriority)
	if f.Reason == "" {
		f.Reason, f.Code = reason, why
	}
	return f
}
