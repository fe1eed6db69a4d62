package virtualrouter

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/keepvip/keepvip/members"
)

func TestClaimsTellWhatHasBegunAndIsOver(t *testing.T) {
	own := members.Router{Version: 3, VRID: 51, Interval: interval}
	b := members.Claimant{Member: members.Member{Address: nodeB, Peer: members.PeerState{Self: members.Self{Router: own}}}}
	split := b
	split.Split = true
	var c claims
	disclaimed, begun, over := c.update([]members.Claimant{b}, own, false)
	assert.Empty(t, disclaimed)
	assert.Empty(t, begun, "it may be over in a moment")
	assert.Empty(t, over)

	_, begun, _ = c.update([]members.Claimant{split}, own, false)
	require.Len(t, begun, 1)
	assert.Equal(t, nodeB, begun[0].Address)
	assert.Equal(t, causeFiltered, begun[0].Cause)
	assert.False(t, begun[0].Both)
	_, begun, _ = c.update([]members.Claimant{split}, own, true)
	assert.Empty(t, begun, "it was told")
	assert.True(t, c.splits[0].Both, "this node is Active now")

	disclaimed, _, over = c.update(nil, own, false)
	assert.Equal(t, nodeB, disclaimed[0])
	require.Len(t, over, 1)
	assert.Empty(t, c.splits)
}
