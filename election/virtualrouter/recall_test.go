package virtualrouter

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/keepvip/keepvip/election"
	"github.com/keepvip/keepvip/members"
	"github.com/keepvip/keepvip/vrrp"
)

func TestRecallRanksAboveTheHolderAndStaysThere(t *testing.T) {
	holder := members.Member{Peer: members.PeerState{State: vrrp.Active, Priority: 100}}
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
