package instance

import (
	"cmp"
	"strings"

	"github.com/keepvip/keepvip/election"
	"github.com/keepvip/keepvip/internal/base/code"
)

// Takers says who could take the address over if its holder died now. Every node that hears the same says the same.
type Takers struct {
	Count   int    `json:"count"`            // nodes that could, the holder not among them
	Nodes   int    `json:"nodes"`            // nodes that are known and may hold it: the holder, this node, and those that are silent, too
	Unknown int    `json:"unknown"`          // of these, routers that speak VRRP alone: while one is Backup nobody hears it
	Reason  string `json:"reason,omitempty"` // why count is 0: no majority without the holder, or none at all, or no candidate; who is held or drained
}

// takers is pure. A node counts that is heard, takes part, does not hold the address, and is fit: not drained, not held, and no check
// keeps it from being a good holder. This node counts when it is standby.
func (s *Status) takers() Takers {
	t := Takers{Reason: s.Takers.Reason}
	for i := range s.Members {
		m := &s.Members[i]
		if m.Witness || m.NoCandidate {
			if m.NoCandidate && m.State == election.Active {
				t.Nodes++ // until another one has the address
			}
			continue
		}
		t.Nodes++
		switch {
		case m.State == election.Active:
		case m.Fit == nil && !m.Self:
			t.Unknown++
		case couldTakeOver(m) && (!m.Self || s.Observed == ObservedStandby):
			t.Count++
		}
	}
	switch {
	case len(s.Members) == 0, s.Local:
		t.Nodes = 1 // this node, which is in no election
	case t.Nodes == 0:
		t.Reason = "no candidate is heard"
	case t.Count == 0 && t.Unknown == 0 && t.Reason == "":
		t.Reason = s.ordered()
	}
	if t.Reason = cmp.Or(s.Blocked, t.Reason); t.Reason != "" {
		t.Count = 0
	}
	return t
}

// ordered names the nodes that could take the address if an operator did not keep them from it; empty: there are none.
func (s *Status) ordered() string {
	var out []string
	for i := range s.Members {
		m := &s.Members[i]
		why := ""
		switch {
		case m.State == election.Active, m.State == election.Silent:
		case m.Code == code.Held, m.Code == code.Drained:
			why = m.Unfit
		case m.Self && s.Desired != Available && s.Desired != "":
			why = string(s.Desired) + " by an operator"
		}
		if why != "" {
			out = append(out, cmp.Or(m.Node, m.Address.String())+" is "+why)
		}
	}
	return strings.Join(out, "; ")
}

// couldTakeOver tells of a member, or of this node, whether it would be a good holder by what was heard of it.
func couldTakeOver(m *election.Member) bool {
	return m.State == election.Backup && (m.Fit == nil || *m.Fit)
}
