package instance

import (
	"time"

	"github.com/keepvip/keepvip/election"
	"github.com/keepvip/keepvip/internal/base/code"
)

// refusedFor is how long a node that has passed the address on, as the kernel refused a part of it, takes that to be so still: it cannot look without
// holding it.
const refusedFor = 5 * time.Minute

// refusal is what the kernel has refused a holder for no cause that can be looked at.
type refusal struct {
	why string
	at  time.Time
}

// newest is why a part of the addresses cannot be bound. missing is what the service says of that, which a holder alone knows.
func (r *refusal) newest(missing string, holds bool, now time.Time) string {
	switch {
	case missing != "":
		r.why, r.at = missing, now
	case holds || now.Sub(r.at) >= refusedFor:
		r.why = ""
	}
	return r.why
}

// lack looks whether this node can bind the addresses of every family: what the interface has, and, of a holder, what the kernel has refused.
func (i *instance) lack() {
	v := i.shared.now()
	if v.cfg.Lacks == nil {
		return
	}
	why := v.cfg.Lacks()
	if holds := v.state == election.Active; why == "" {
		missing := ""
		if holds { // to ask takes its time
			missing = v.service.Status().Missing
		}
		why = i.refused.newest(missing, holds, time.Now())
	}
	if why == v.lacking {
		return
	}
	if why != "" {
		i.log.Warn("addresses of one family cannot be bound: this node comes last, and serves the other family where it has to", "code", string(code.FamilyMissing),
			"reason", why, "remedy", code.FamilyMissing.Entry().Remedy)
	} else {
		i.log.Info("addresses of every family can be bound again")
	}
	i.shared.tell(func(v *view) { v.lacking = why })
}
