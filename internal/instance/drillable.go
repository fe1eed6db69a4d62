package instance

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/keepvip/keepvip/election"
	"github.com/keepvip/keepvip/internal/code"
)

// mayDrill says why a drill would do harm now, or show nothing.
func (a *Set) mayDrill(list []*instance, d Drill) error {
	return each(list, func(r *instance) error {
		v := r.now()
		s := v.status()
		err := s.mayDrill(d.Kind, time.Now())
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
func (s *Status) mayDrill(kind DrillKind, now time.Time) error {
	switch {
	case s.State != "active" && s.Holder != "":
		return fmt.Errorf("%w: %s does; drill there, and measure here with --watch", election.ErrNotActive, s.holderName())
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
	case kind == DrillCheck && !slices.ContainsFunc(s.Checks, CheckStatus.decides):
		return errors.New("no check of this node is a condition, so a failing check would not make it unfit")
	}
	return s.othersWell(now)
}

// decides tells whether the node is not fit while the check is unhealthy.
func (c CheckStatus) decides() bool { return c.Weight == 0 || c.numbered }

// othersWell names those of the others that are not well, or says that nobody could take the address. A drill is for a good day.
func (s *Status) othersWell(now time.Time) error {
	var unwell []string
	for _, m := range s.Members {
		if why := m.unwell(now); why != "" && !m.Self {
			unwell = append(unwell, m.called()+" "+why)
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

// unwell is why a member could not take the address, or a witness not vote; empty when it could.
func (m *MemberStatus) unwell(now time.Time) string {
	switch {
	case m.State == stateSilent && m.LastHeard != nil:
		return fmt.Sprintf("is silent for %s", now.Sub(*m.LastHeard).Round(time.Second))
	case m.State == stateSilent, m.LastHeard == nil && !m.Self:
		return "was never heard"
	case m.Fit != nil && !*m.Fit && !m.Witness:
		return "is not fit: " + m.Unfit
	case m.State == "initialize":
		return "takes no part: " + m.Note
	}
	return ""
}

// called is what an operator calls it.
func (m *MemberStatus) called() string {
	if m.Node == "" {
		return m.Address.String()
	}
	return m.Node + " (" + m.Address.String() + ")"
}

// holderName is what an operator calls the holder.
func (s *Status) holderName() string {
	for i := range s.Members {
		if m := &s.Members[i]; m.Address.String() == s.Holder {
			return m.called()
		}
	}
	return s.Holder
}
