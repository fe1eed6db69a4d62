package trial

import (
	"net/netip"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/keepvip/keepvip/netns-tests/lab"
)

// A node that has lost a family may be given the address by another fault.
func TestLostFamilyCostsMoreBesideAnotherFault(t *testing.T) {
	off, deaf := &injected{kind: chaosKindOf("IPv6 off")}, &injected{kind: chaosKindOf("deaf")}
	assert.Equal(t, unbound, off.secondFamily(false))
	assert.Equal(t, lame, off.secondFamily(true))
	assert.Zero(t, deaf.secondFamily(true))
}

// The claims of a node are held against its answers while something is wrong with its host: they may be wrong in no other way than it names.
func TestClaimOfAHostIsRefutedUnlessItNamesTheFault(t *testing.T) {
	own := func(id int) string { return netip.AddrFrom4([4]byte{10, 77, 0, byte(10 + id)}).String() }
	c := &Chaos{entries: []chaosEntry{{name: "group", addresses: []netip.Addr{lab.VIP4, lab.VIP6}}}}
	for id := 1; id <= 2; id++ {
		c.nodes = append(c.nodes, &chaosNode{Node: &lab.Node{ID: id, Label: "n", Address: netip.MustParseAddr(own(id))}})
	}
	answers := func(address netip.Addr, nodes []int) (out []lab.Answer) {
		for at := time.Duration(0); at < 10*time.Second; at += 5 * ms {
			for _, n := range nodes {
				out = append(out, lab.Answer{At: at, Node: n, Address: address})
			}
		}
		return out
	}
	for _, tt := range []struct {
		name          string
		answer, other []int // nodes that answer for the IPv4, and for the IPv6 address
		claim         claim
		want          string
	}{
		{"active and answers", []int{1}, []int{1}, claim{node: 1, state: "active"}, ""},
		{"deaf, which it does not say", []int{2}, []int{2}, claim{node: 1, state: "active"}, "active, but it does not answer"},
		{"deaf, and says so", []int{2}, []int{2}, claim{node: 1, state: "active", deaf: true, holder: own(1)}, ""},
		{"says that it is deaf, and answers", []int{1}, []int{1}, claim{node: 1, state: "active", deaf: true}, "DEAF, but it answers"},
		{"shows a deaf member as active", []int{2}, []int{2}, claim{node: 2, state: "active", members: []string{own(1)}}, "the member 10.77.0.11 is active, but it does not answer"},
		{
			"one family is off, which it does not say",
			[]int{1},
			nil,
			claim{node: 1, state: "active"},
			"active, but it does not answer for fd77::100, which it does not call missing",
		},
		{"one family is off, and is said to be", []int{1}, nil, claim{node: 1, state: "active", lacking: true}, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tt.claim.at = 5 * time.Second
			tt.claim.entry = "group"
			res := &EpisodeResult{Report: &lab.Report{Ended: 10 * time.Second, Answers: append(answers(lab.VIP4, tt.answer), answers(lab.VIP6, tt.other)...)}}
			assert.Equal(t, tt.want, c.refutes(res, tt.claim))
		})
	}
}

func TestDeafMemberIsNotShownAsOneThatServes(t *testing.T) {
	var v VIPStatus
	v.Members = make([]Member, 3)
	v.Members[0].Address, v.Members[0].State = "10.77.0.11", "active"
	v.Members[1].Address, v.Members[1].State, v.Members[1].Unfit = "10.77.0.12", "active", "DEAF: nothing arrives"
	v.Members[2].Address, v.Members[2].State, v.Members[2].Self = "10.77.0.13", "active", true
	assert.Equal(t, []string{"10.77.0.11"}, v.activeMembers())
}

func TestKindsWithoutABeginningAreFaultsOfANode(t *testing.T) {
	names := map[string]bool{}
	for _, f := range nodeFaults() {
		assert.False(t, names[f.name], "%s is there twice", f.name)
		names[f.name] = true
	}
	for _, k := range chaosRows() {
		assert.True(t, k.begin != nil || names[k.name], k.name)
	}
	assert.ErrorContains(t, nodeFaultOf("earthquake").begin(nil), "earthquake")
}
