package instance

import "github.com/keepvip/keepvip/election"

// Observed is what a node is to one virtual address, whatever is wanted of it. Its text is part of the status.
type Observed string

// What a node may be.
const (
	ObservedActive     Observed = "active"     // it holds the address
	ObservedStandby    Observed = "standby"    // it would take it
	ObservedIneligible Observed = "ineligible" // it takes part, but is not fit
	ObservedDraining   Observed = "draining"   // it holds the address that it is to give away, or drains its connections
	ObservedHeld       Observed = "held"       // it stays out because an operator wants it so
	ObservedRemoved    Observed = "removed"    // it has left the election for good
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
	case v.state == election.Active && wanted:
		return ObservedActive
	case v.state == election.Active, passing:
		return ObservedDraining
	case v.desired.Desired == Held:
		return ObservedHeld
	case v.elector == nil, s.Blocked != "":
		return ObservedFault
	case s.Eligible:
		return ObservedStandby
	}
	return ObservedIneligible
}
