package instance

import (
	"context"

	"github.com/keepvip/keepvip/election"
	"github.com/keepvip/keepvip/internal/base/code"
)

// alone tells whether this node would be the only one that serves if its checks were good, so that damping must not keep it away. A
// node that holds the address while it is unhealthy needs no answer: it goes on. One that is let go of (ReleaseWhenUnhealthy) and
// one beside a balancer are asked about the others; of others that say nothing the balancer knows.
func (s *shared) alone(ctx context.Context) bool {
	v := s.now()
	if v.elector == nil || !v.cfg.apart() && !v.cfg.releases() {
		return false
	}
	var good, heard bool
	if o, apart := v.elector.(*outsider); apart {
		good, heard = othersGood(o.others())
	} else {
		good, heard = othersGood(v.elector.Status().Members)
	}
	if !good && !heard && v.cfg.apart() && v.cfg.Served != nil {
		return !v.cfg.Served(ctx)
	}
	return !good
}

// othersGood tells whether another node is good, or holds the address, and whether any other one has said how it is. One that is no candidate,
// or leaves because the address is external, has good checks and no other cause.
func othersGood(list []election.Member) (good, heard bool) {
	for i := range list {
		m := &list[i]
		if m.Self || m.State == election.Silent || m.Witness {
			continue
		}
		heard = heard || m.Speaks()
		good = good || m.State == election.Active || m.Speaks() && (*m.Fit || m.Code == code.NoCandidate || m.Code == code.External)
	}
	return good, heard
}
