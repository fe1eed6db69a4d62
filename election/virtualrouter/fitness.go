package virtualrouter

import (
	"github.com/keepvip/keepvip/election"
	"github.com/keepvip/keepvip/internal/base/code"
)

// unfitPriority is what a node advertises that would rather not be Active: the lowest that is not a
// resignation, so that it comes last in every election and yields to anybody fitter.
const unfitPriority = 1

// ownFitness is how fit this node is.
type ownFitness struct {
	told        election.Fitness
	effective   election.Fitness // as it counts in the election
	noCandidate bool
	unanswered  complaint // nobody answers questions for the address here
	unreached   complaint // connections to the address do not come here
	deaf        string    // why this node counts as deaf; empty: it hears
	backoff     election.BindBackoff
}

// alone is the fitness without regard to others: as it was told, or worse. A node that cannot wait is out until it need not. base is the
// priority that it advertises if nothing is wrong.
func (o *ownFitness) alone(base uint8, cannotWait bool) election.Fitness {
	f := o.backoff.Worsen(o.told)
	f.Out = f.Out || o.backoff.Pausing() || f.Wait && cannotWait
	f = comesLast(f, base, o.deaf, code.Deaf)
	f = comesLast(f, base, o.unanswered.reason, o.unanswered.code)
	f = comesLast(f, base, o.unreached.reason, o.unreached.code)
	return o.candidacy(f, base)
}

// comesLast is the fitness f of a node that comes last for a reason; empty: for none. It may be alone, so it is not out.
func comesLast(f election.Fitness, base uint8, reason string, c code.Code) election.Fitness {
	if reason == "" || f.Out {
		return f
	}
	if f.Wait || good(f, effective(base, f)) {
		f.Reason, f.Code = reason, c
	}
	f.Less = 255
	return f
}

// waits tells whether the node must not become Active if it is Backup.
func (o *ownFitness) waits() bool { return o.effective.Wait || o.noCandidate }

// good tells whether the node would be a good holder.
func (o *ownFitness) good(base uint8) bool { return good(o.effective, effective(base, o.effective)) }

// takes tells whether the node takes new connections: as fit as it was told, also while it passes the address on, or cannot bind it. That
// changes nothing for the service, and may be over in a moment. One that is about to stop takes none, nor does one that is deaf.
func (o *ownFitness) takes(base uint8, stops bool) bool {
	f := o.told
	f.Wait = false
	return !stops && o.deaf == "" && good(f, effective(base, f))
}

// effective is the priority that a node of this fitness advertises: less than base, or more of one that wants the address back. 255 is
// the owner's alone, and an owner that is unfit is no owner.
func effective(base uint8, f election.Fitness) uint8 {
	if f.Less == 0 {
		return base
	}
	return uint8(min(max(int(base)-f.Less, unfitPriority), 254))
}

// good tells whether a node of this fitness would be a good holder. One that is only less fit than it could be has the
// priority to say so.
func good(f election.Fitness, effective uint8) bool {
	return !f.Out && !f.Wait && (f.Less <= 0 || effective > unfitPriority)
}
