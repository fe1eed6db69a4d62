package virtualrouter

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/keepvip/keepvip/election"
	"github.com/keepvip/keepvip/members"
	"github.com/keepvip/keepvip/vrrp"
)

func TestRecallRanksAboveTheHolderAndStaysThere(t *testing.T) {
	holder := members.Member{Peer: members.PeerState{Self: members.Self{State: vrrp.Active, Priority: 100}}}
	var r recall
	assert.False(t, r.want(false))
	assert.Equal(t, election.Fitness{}, r.above(election.Fitness{}, 100, []members.Member{holder}), "nobody wants it")
	assert.True(t, r.want(true))
	assert.Equal(t, -1, r.above(election.Fitness{}, 100, []members.Member{holder}).Less)
	assert.Equal(t, -1, r.above(election.Fitness{}, 100, nil).Less, "it has it now")
	assert.Equal(t, unfit, r.above(unfit, 100, []members.Member{holder}))
	assert.True(t, r.want(true), "the holder may be another one")
	assert.Equal(t, -1, r.above(election.Fitness{}, 100, nil).Less)
	assert.True(t, r.want(false))
	assert.Zero(t, r.above(election.Fitness{}, 100, nil).Less)
}

// Where no node is well, a drill brings the address back as well. One that is fitter keeps it.
func TestRecallAmongNodesThatAreAllLessFit(t *testing.T) {
	less := election.Fitness{Less: 98, Reason: "nothing listens at the address"}
	holder := func(priority uint8) []members.Member {
		return []members.Member{{Peer: members.PeerState{Self: members.Self{State: vrrp.Active, Priority: priority}}}}
	}
	var r recall
	r.want(true)
	assert.Equal(t, 98, r.above(less, 100, holder(100)).Less, "the holder is fitter")
	got := r.above(less, 100, holder(2))
	assert.Equal(t, 97, got.Less)
	assert.Equal(t, less.Reason, got.Reason)
	assert.Equal(t, 97, r.above(less, 100, nil).Less, "it has it now")
	assert.Equal(t, 150, r.above(election.Fitness{Less: 150}, 100, nil).Less, "it has become worse since")
	assert.Zero(t, r.above(election.Fitness{}, 100, nil).Less, "it is well")
	assert.Equal(t, unfit, r.above(unfit, 100, holder(unfitPriority)), "it would count as fit")

	r = recall{}
	r.want(true)
	assert.Equal(t, -1, r.above(election.Fitness{}, 100, holder(100)).Less)
	assert.Equal(t, 98, r.above(less, 100, nil).Less, "a wish does not outlast the fitness that it was for")
}
