package instance

import (
	"net/netip"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/keepvip/keepvip/internal/base/code"
)

func TestTakersAreHeardAndFitAndNotTheHolder(t *testing.T) {
	yes, no := true, false
	self := func(state string) MemberStatus {
		return MemberStatus{Address: nodeA, Self: true, State: state, Fit: &yes}
	}
	other := func(state string, fit *bool) MemberStatus {
		return MemberStatus{Address: netip.MustParseAddr("10.77.0.13"), State: state, Fit: fit}
	}
	for name, tt := range map[string]struct {
		status Status
		want   Takers
	}{
		"the holder of three": {
			Status{Observed: ObservedActive, Members: []MemberStatus{self("active"), other("backup", &yes), other("backup", &yes)}},
			Takers{Count: 2, Nodes: 3},
		},
		"a standby of three says the same": {
			Status{Observed: ObservedStandby, Members: []MemberStatus{self("backup"), other("active", &yes), other("backup", &yes)}},
			Takers{Count: 2, Nodes: 3},
		},
		"one is silent": {
			Status{Observed: ObservedStandby, Members: []MemberStatus{self("backup"), other("active", &yes), other("silent", &yes)}},
			Takers{Count: 1, Nodes: 3},
		},
		"one is not fit, drained or held": {
			Status{Observed: ObservedStandby, Members: []MemberStatus{self("backup"), other("active", &yes), other("backup", &no)}},
			Takers{Count: 1, Nodes: 3},
		},
		"this node is not fit": {
			Status{Observed: ObservedIneligible, Members: []MemberStatus{self("backup"), other("active", &yes), other("backup", &yes)}},
			Takers{Count: 1, Nodes: 3},
		},
		"this node gives the address away": {
			Status{Observed: ObservedDraining, Members: []MemberStatus{self("backup"), other("active", &yes), other("backup", &yes)}},
			Takers{Count: 1, Nodes: 3},
		},
		"one is in no election": {
			Status{Observed: ObservedActive, Members: []MemberStatus{self("active"), other("initialize", &yes)}},
			Takers{Nodes: 2},
		},
		"nobody holds it": {
			Status{Observed: ObservedStandby, Members: []MemberStatus{self("backup"), other("backup", &yes)}},
			Takers{Count: 2, Nodes: 2},
		},
		"a router that speaks VRRP alone": {
			Status{Observed: ObservedActive, Members: []MemberStatus{self("active"), other("backup", nil)}},
			Takers{Nodes: 2, Unknown: 1},
		},
		"a witness is no node that could": {
			Status{Observed: ObservedActive, Members: []MemberStatus{self("active"), other("backup", &yes), {State: "backup", Witness: true, Fit: &no}}},
			Takers{Count: 1, Nodes: 2},
		},
		"one that is no candidate is no node that could": {
			Status{Observed: ObservedActive, Members: []MemberStatus{self("active"), other("backup", &yes), {State: "backup", NoCandidate: true, Fit: &no}}},
			Takers{Count: 1, Nodes: 2},
		},
		"nobody is a candidate": {
			Status{Observed: ObservedMember, Members: []MemberStatus{{State: "backup", Self: true, NoCandidate: true, Fit: &no}, {State: "backup", NoCandidate: true, Fit: &no}}},
			Takers{Reason: "no candidate is heard"},
		},
		"the holder is no candidate any more": {
			Status{Observed: ObservedActive, Members: []MemberStatus{{State: "active", Self: true, NoCandidate: true, Fit: &no}, {State: "backup", NoCandidate: true, Fit: &no}}},
			Takers{Nodes: 1},
		},
		"a majority needs the holder": {
			Status{Observed: ObservedActive, Takers: Takers{Reason: "why"}, Members: []MemberStatus{self("active"), other("backup", &yes), other("silent", &yes)}},
			Takers{Nodes: 3, Reason: "why"},
		},
		"there is no majority": {
			Status{Observed: ObservedFault, Blocked: "NO QUORUM", Members: []MemberStatus{self("backup"), other("silent", &yes)}},
			Takers{Nodes: 2, Reason: "NO QUORUM"},
		},
		"the only other one is held": {
			Status{Observed: ObservedActive, Members: []MemberStatus{
				self("active"), {Node: "n2", State: "initialize", Fit: &no, Code: code.Held, Unfit: "held by an operator: new kernel"},
			}},
			Takers{Nodes: 2, Reason: "n2 is held by an operator: new kernel"},
		},
		"this node is held, and the only other one": {
			Status{Observed: ObservedHeld, Desired: Held, Members: []MemberStatus{self("initialize"), other("active", &yes)}},
			Takers{Nodes: 2, Reason: "10.77.0.11 is held by an operator"},
		},
		"this node is in no election": {Status{Observed: ObservedFault}, Takers{Nodes: 1}},
	} {
		t.Run(name, func(t *testing.T) { assert.Equal(t, tt.want, tt.status.takers()) })
	}
}
