package instance

import (
	"net/netip"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/keepvip/keepvip/election"
	"github.com/keepvip/keepvip/internal/base/code"
)

func TestTakersAreHeardAndFitAndNotTheHolder(t *testing.T) {
	yes, no := true, false
	self := func(state election.State) election.Member {
		return election.Member{Address: nodeA, Self: true, State: state, Fit: &yes}
	}
	other := func(state election.State, fit *bool) election.Member {
		return election.Member{Address: netip.MustParseAddr("10.77.0.13"), State: state, Fit: fit}
	}
	for name, tt := range map[string]struct {
		status Status
		want   Takers
	}{
		"the holder of three": {
			Status{Observed: ObservedActive, Members: []election.Member{self(election.Active), other(election.Backup, &yes), other(election.Backup, &yes)}},
			Takers{Count: 2, Nodes: 3},
		},
		"a standby of three says the same": {
			Status{Observed: ObservedStandby, Members: []election.Member{self(election.Backup), other(election.Active, &yes), other(election.Backup, &yes)}},
			Takers{Count: 2, Nodes: 3},
		},
		"one is silent": {
			Status{Observed: ObservedStandby, Members: []election.Member{self(election.Backup), other(election.Active, &yes), other(election.Silent, &yes)}},
			Takers{Count: 1, Nodes: 3},
		},
		"one is not fit, drained or held": {
			Status{Observed: ObservedStandby, Members: []election.Member{self(election.Backup), other(election.Active, &yes), other(election.Backup, &no)}},
			Takers{Count: 1, Nodes: 3},
		},
		"this node is not fit": {
			Status{Observed: ObservedIneligible, Members: []election.Member{self(election.Backup), other(election.Active, &yes), other(election.Backup, &yes)}},
			Takers{Count: 1, Nodes: 3},
		},
		"this node gives the address away": {
			Status{Observed: ObservedDraining, Members: []election.Member{self(election.Backup), other(election.Active, &yes), other(election.Backup, &yes)}},
			Takers{Count: 1, Nodes: 3},
		},
		"one is in no election": {
			Status{Observed: ObservedActive, Members: []election.Member{self(election.Active), other(election.Initialize, &yes)}},
			Takers{Nodes: 2},
		},
		"nobody holds it": {
			Status{Observed: ObservedStandby, Members: []election.Member{self(election.Backup), other(election.Backup, &yes)}},
			Takers{Count: 2, Nodes: 2},
		},
		"a router that speaks VRRP alone": {
			Status{Observed: ObservedActive, Members: []election.Member{self(election.Active), other(election.Backup, nil)}},
			Takers{Nodes: 2, Unknown: 1},
		},
		"a witness is no node that could": {
			Status{Observed: ObservedActive, Members: []election.Member{self(election.Active), other(election.Backup, &yes), {State: election.Backup, Witness: true, Fit: &no}}},
			Takers{Count: 1, Nodes: 2},
		},
		"one that is no candidate is no node that could": {
			Status{Observed: ObservedActive, Members: []election.Member{self(election.Active), other(election.Backup, &yes), {State: election.Backup, NoCandidate: true, Fit: &no}}},
			Takers{Count: 1, Nodes: 2},
		},
		"nobody is a candidate": {
			Status{Observed: ObservedMember, Members: []election.Member{{State: election.Backup, Self: true, NoCandidate: true, Fit: &no}, {State: election.Backup, NoCandidate: true, Fit: &no}}},
			Takers{Reason: "no candidate is heard"},
		},
		"the holder is no candidate any more": {
			Status{Observed: ObservedActive, Members: []election.Member{{State: election.Active, Self: true, NoCandidate: true, Fit: &no}, {State: election.Backup, NoCandidate: true, Fit: &no}}},
			Takers{Nodes: 1},
		},
		"a majority needs the holder": {
			Status{Observed: ObservedActive, Takers: Takers{Reason: "why"}, Members: []election.Member{self(election.Active), other(election.Backup, &yes), other(election.Silent, &yes)}},
			Takers{Nodes: 3, Reason: "why"},
		},
		"there is no majority": {
			Status{Observed: ObservedFault, Blocked: "NO QUORUM", Members: []election.Member{self(election.Backup), other(election.Silent, &yes)}},
			Takers{Nodes: 2, Reason: "NO QUORUM"},
		},
		"the only other one is held": {
			Status{Observed: ObservedActive, Members: []election.Member{
				self(election.Active), {Node: "n2", State: election.Initialize, Fit: &no, Code: code.Held, Unfit: "held by an operator: new kernel"},
			}},
			Takers{Nodes: 2, Reason: "n2 is held by an operator: new kernel"},
		},
		"this node is held, and the only other one": {
			Status{Observed: ObservedHeld, Desired: Held, Members: []election.Member{self(election.Initialize), other(election.Active, &yes)}},
			Takers{Nodes: 2, Reason: "10.77.0.11 is held by an operator"},
		},
		"this node is in no election": {Status{Observed: ObservedFault}, Takers{Nodes: 1}},
	} {
		t.Run(name, func(t *testing.T) { assert.Equal(t, tt.want, tt.status.takers()) })
	}
}
