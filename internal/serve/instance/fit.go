package instance

import (
	"errors"

	"github.com/keepvip/keepvip/election"
	"github.com/keepvip/keepvip/internal/base/code"
)

// Fit is why this node should get no new connections by way of a balancer, for the instance of that name: a check that fails, or what an
// operator wants of the node; nil: it should get some. It is not known while a check has no result yet, and of an instance that there is not.
// Who holds the address, and whether this node could, is no part of it: a balancer sends connections to the node's own address.
func (a *Set) Fit(name string) (why error, known bool) {
	i := a.find(name)
	if i == nil {
		return nil, false
	}
	v := i.shared.now()
	f := v.cfg.combine(v.desired, v.said(), election.Fitness{})
	r := readiness(f)
	if r.Fit {
		return nil, true
	}
	return errors.New(r.Reason), f.Code != code.CheckUnknown
}
