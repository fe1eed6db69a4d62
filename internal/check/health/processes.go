package health

import (
	"cmp"
	"context"
	"fmt"
	"strconv"

	"github.com/keepvip/keepvip/internal/base/lack"
	"github.com/keepvip/keepvip/internal/config"
)

// processesProber is healthy while there are as many processes as wanted. One that has begun or ended is seen by the
// next probe, and counts as any other result.
type processesProber struct{ listing }

func newProcesses(h config.ListedCheck) *processesProber {
	if h.QuorumMax > 0 {
		h.Quorum = max(h.Quorum, 1)
	}
	return &processesProber{listing{check: h, proc: "/proc"}}
}

// Probe implements [Prober].
func (p *processesProber) Probe(ctx context.Context) Result { return p.patiently(ctx, p.look) }

func (p *processesProber) look(ctx context.Context) Result {
	n, err := p.count(ctx)
	switch {
	case lack.Of(err) != "":
		return unasked(lack.Of(err), err)
	case err != nil:
		return Result{Outcome: Fail, Reason: "list the processes: " + brief(err)}
	case n >= p.check.Quorum && n <= p.check.QuorumMax:
		return Result{Reason: fmt.Sprintf("%d of %s", n, p.check.Process)}
	}
	r := Result{Outcome: Fail, Reason: fmt.Sprintf("%d of %s, want %s", n, p.check.Process, p.wanted())}
	if n == 0 {
		r.Hint = podHint
	}
	return r
}

func (p *processesProber) wanted() string {
	switch {
	case p.check.Quorum == p.check.QuorumMax:
		return strconv.Itoa(p.check.Quorum)
	case p.check.QuorumMax >= config.MostProcesses:
		return fmt.Sprintf("at least %d", p.check.Quorum)
	}
	return fmt.Sprintf("%d to %d", p.check.Quorum, p.check.QuorumMax)
}

func (p *processesProber) count(ctx context.Context) (n int, err error) {
	var lacks error
	err = p.each(ctx, func(pid int) (done bool) {
		counts, err := p.is(pid)
		if counts {
			n++
		}
		if lack.Of(err) != "" {
			lacks = err
		}
		return lacks != nil
	})
	return n, cmp.Or(lacks, err)
}
