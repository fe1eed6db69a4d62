package instance

import (
	"github.com/keepvip/keepvip/election"
	"github.com/keepvip/keepvip/internal/base/code"
	"github.com/keepvip/keepvip/internal/config"
)

// Observed is what a node is to one virtual address, whatever is wanted of it. Its text is part of the status.
type Observed string

// What a node may be.
const (
	ObservedActive     Observed = "active"     // it holds the address
	ObservedStandby    Observed = "standby"    // it would take it
	ObservedMember     Observed = "member"     // it takes part, and never holds the address: it is no candidate
	ObservedIneligible Observed = "ineligible" // it takes part, but is not fit
	ObservedDraining   Observed = "draining"   // it holds the address that it is to give away, or drains its connections
	ObservedHeld       Observed = "held"       // it stays out because an operator wants it so
	ObservedRemoved    Observed = "removed"    // it has left the election for good
	ObservedExternal   Observed = "external"   // the addresses are somebody else's, and this node holds none of them
	ObservedFault      Observed = "fault"      // it cannot take part, its lease is not renewed, or nobody can take the address
)

// observed is pure.
func (v *view) observed(s *Status, passing bool) Observed {
	wanted := v.desired.Desired == Available
	switch {
	case v.removed:
		return ObservedRemoved
	case s.Silent:
		return ObservedFault
	case v.state == election.Active && v.cfg.Leaving != nil:
		return ObservedDraining
	case v.state == election.Active && wanted:
		return ObservedActive
	case v.state == election.Active, passing:
		return ObservedDraining
	case v.cfg.mode() == config.ModeExternal:
		return ObservedExternal
	case v.desired.Desired == Held:
		return ObservedHeld
	case v.elector == nil, s.Blocked != "":
		return ObservedFault
	case s.Eligible:
		return ObservedStandby
	case s.NoCandidate && s.unfit == code.NoCandidate:
		return ObservedMember
	}
	return ObservedIneligible
}

// Why is the cause of what a node is, which may be another one than that of its last change of state.
type Why struct {
	Code   code.Code `json:"code"`
	Reason string    `json:"reason"`
}

// why is pure; nil for a node that is as it should be, and where Reason says it.
func (v *view) why(s *Status) *Why {
	f := election.Fitness{}
	if v.elector != nil {
		f = v.cfg.combine(v.desired, v.said(), v.blocked)
	}
	switch {
	case s.Observed == ObservedActive, s.Observed == ObservedStandby && s.Unfit == "", s.Observed == ObservedRemoved, s.Observed == ObservedExternal && s.Unfit == "":
		return nil
	case s.Blocked != "":
		return &Why{s.blocked, s.Blocked}
	case s.Silent, v.elector == nil:
		return &Why{s.Code, s.Reason}
	case v.desired.Desired == Held, v.desired.Desired == Drained:
		return &Why{v.desired.code(), v.desired.reason()}
	case f.Reason != "":
		return &Why{f.Code, f.Reason}
	case s.Unfit != "":
		return &Why{s.unfit, s.Unfit}
	}
	return nil
}
