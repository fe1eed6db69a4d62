package virtualrouter

import (
	"github.com/keepvip/keepvip/election"
	"github.com/keepvip/keepvip/members"
	"github.com/keepvip/keepvip/vrrp"
)

// recall is an operator's wish to have the address back here.
type recall struct {
	on   bool
	rise int // the priority above the holder's; 0: this node's own is above already
}

// want begins or ends the wish, and tells whether the fitness may be another one. The holder may be another one each time.
func (r *recall) want(on bool) bool {
	if !on && !r.on {
		return false
	}
	if r.on != on {
		r.on, r.rise = on, 0
	}
	return true
}

// above is the fitness f of a node that wants the address back: one step better than the holder's, also when it has it. base is the node's
// own priority; list, of the members, is what the holder is looked for in, nil where this node does not wait for it. A node that is less fit
// than it could be takes the address back from one that is no fitter, and leaves it with one that is. One that is unfit takes nothing back.
func (r *recall) above(f election.Fitness, base uint8, list []members.Member) election.Fitness {
	if !r.on || f.Out || f.Wait {
		return f
	}
	own := base
	if f.Less > 0 {
		own = effective(base, f)
		if own <= unfitPriority {
			return f // a step above that counts as fit
		}
	}
	for i := range list {
		o := &list[i]
		if o.Peer.State != vrrp.Active || o.Peer.Priority < own || f.Less > 0 && o.Peer.Priority > own {
			continue
		}
		r.rise = int(o.Peer.Priority) + 1
	}
	if f.Less <= 0 {
		f.Less = min(int(base)-r.rise, 0)
	} else if r.rise == int(own)+1 {
		f.Less = int(base) - r.rise
	}
	return f
}
