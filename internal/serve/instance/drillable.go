package instance

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/keepvip/keepvip/election"
	"github.com/keepvip/keepvip/internal/base/code"
)

// mayDrill says why a drill would do harm now, or show nothing.
func (a *Set) mayDrill(list []*instance, d Drill) error {
	return each(list, func(r *instance) error {
		v := r.shared.now()
		s := v.status()
		of := d
		if r != list[0] && d.Kind == DrillCheck && v.cfg.cluster() {
			of.Kind = DrillHandover // one address with a check is enough for the leader to go
		}
		err := s.mayDrill(of, time.Now())
		if lease := v.cfg.Lease; err == nil && d.Kind == DrillStop && d.Lasts <= lease {
			err = fmt.Errorf("the lease of %s would outlast a drill of %s, so nobody would take the address: --lasts, at most %s, has to be longer", lease, d.Lasts, MostDrill)
		}
		if err != nil {
			return fmt.Errorf("%s: %w (%s)", r.name, err, code.DrillRefused)
		}
		return nil
	})
}

// mayDrill is pure.
func (s *Status) mayDrill(d Drill, now time.Time) error {
	switch kind := d.Kind; {
	case s.State != "active" && s.Holder != "":
		return fmt.Errorf("%w: %s does; drill there, and measure here with --watch", election.ErrNotActive, s.HolderName())
	case s.State != "active":
		return fmt.Errorf("%w, and nobody is heard that does", election.ErrNotActive)
	case s.Desired != Available:
		return fmt.Errorf("this node is %s: resume it first", s.Desired)
	case s.Silent, s.Blocked != "":
		return errors.New(s.Reason)
	case len(s.Conflicts) > 0:
		return fmt.Errorf("CONFLICT: %s is claimed by %s", s.Conflicts[0].Address, s.Conflicts[0].MAC)
	case len(s.Splits) > 0:
		return fmt.Errorf("SPLIT: %s holds the address, too", s.Splits[0].Address)
	case kind == DrillStop && !s.Fence.Standing:
		return fmt.Errorf("the fence is not in place, so two nodes could answer: %s", s.Fence.Reason)
	case kind == DrillStop && s.Fence.Uncovered != "":
		return fmt.Errorf("the fence does not cover %s: two nodes could answer; drill with --handover or --check", s.Fence.Uncovered)
	case kind == DrillCheck && !slices.ContainsFunc(s.Checks, CheckStatus.decides):
		return errors.New("no check of this node is a condition, so a failing check would not make it unfit")
	}
	return cmp.Or(s.othersWell(now), s.mayGoBack(d))
}

// mayGoBack says why the address would not be, after the drill, where it is to be: by VRRP the way back is a higher priority than the holder's,
// and a higher priority is also what takes an address back that is to stay away.
func (s *Status) mayGoBack(d Drill) error {
	if s.VRID == 0 {
		return nil
	}
	var top election.Member
	for _, m := range s.Members {
		if !m.Self && m.Priority >= top.Priority {
			top = m
		}
	}
	switch {
	case d.Return && top.Priority >= mostPriority && s.Priority <= mostPriority:
		return fmt.Errorf("%s has priority %d, and this node could not rank above it to have the address back: "+
			"drill with --no-return, or give that node a lower priority", top.String(), top.Priority)
	case !d.Return && s.Preempt && s.Priority > top.Priority:
		return fmt.Errorf("this node would take the address back by itself (its priority is %d, that of the others %d at most, and vrrp.preempt is on): "+
			"drill without --no-return, or keep this node away by keepvip drain", s.Priority, top.Priority)
	}
	return nil
}

// decides tells whether the node is not fit while the check is unhealthy.
func (c CheckStatus) decides() bool { return c.Weight == 0 || c.numbered }

// othersWell names those of the others that are not well, or says that nobody could take the address. A drill is for a good day.
func (s *Status) othersWell(now time.Time) error {
	var unwell []string
	for _, m := range s.Members {
		if why := whyUnwell(&m, now); why != "" && !m.Self {
			unwell = append(unwell, m.String()+" "+why)
		}
	}
	switch t := s.takers(); {
	case len(unwell) > 0:
		return fmt.Errorf("%w without risk: %s", election.ErrNoTaker, strings.Join(unwell, "; "))
	case t.Count == 0 && t.Reason != "":
		return fmt.Errorf("%w: %s", election.ErrNoTaker, t.Reason)
	case t.Count == 0:
		return fmt.Errorf("%w: none is known that says that it is fit", election.ErrNoTaker)
	}
	return nil
}

// whyUnwell is why a member could not take the address, or one that never does not be heard; empty when it could.
func whyUnwell(m *election.Member, now time.Time) string {
	switch {
	case m.State == election.Silent && !m.LastHeard.IsZero():
		return fmt.Sprintf("is silent for %s", now.Sub(m.LastHeard).Round(time.Second))
	case m.State == election.Silent, m.LastHeard.IsZero() && !m.Self:
		return "was never heard"
	case m.Unwell() && !m.NoCandidate:
		return "is not fit: " + m.Unfit
	case m.State == election.Initialize:
		return "takes no part: " + m.Note
	}
	return ""
}
