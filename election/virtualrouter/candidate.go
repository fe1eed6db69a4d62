package virtualrouter

import (
	"github.com/keepvip/keepvip/election"
	"github.com/keepvip/keepvip/internal/base/code"
)

// candidacy is the fitness f of a node that is no candidate: it comes last, for this reason if there is no other. As a Backup it waits for as long
// as it is none.
func (o *ownFitness) candidacy(f election.Fitness, base uint8) election.Fitness {
	if !o.noCandidate || f.Out {
		return f
	}
	if f.Wait || good(f, effective(base, f)) {
		f.Reason, f.Code = election.NoCandidate, code.NoCandidate
	}
	f.Less = 255
	return f
}
