package virtualrouter

import (
	"net/netip"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/keepvip/keepvip/members"
)

func TestRosterTellsWhatAnUpdateHasChanged(t *testing.T) {
	at := time.Unix(1_700_000_000, 0)
	said := func(a netip.Addr, fit bool) members.Member {
		return members.Member{Address: a, Heard: at, Peer: members.PeerState{Self: members.Self{Fit: fit}}}
	}
	a, b := said(nodeA, true), said(nodeB, true)
	var r roster
	assert.Equal(t, news{changed: true, others: true}, r.update(at, []members.Member{a, b}))
	assert.Equal(t, news{}, r.update(at, []members.Member{a, b}))
	assert.Equal(t, news{changed: true}, r.update(at, []members.Member{a, said(nodeB, false)}), "the rank among them is the same")

	n := r.update(at, []members.Member{a})
	require.Len(t, n.lost, 1)
	assert.Equal(t, nodeB, n.lost[0].Address)
	assert.True(t, n.changed && n.others)
	n = r.update(at.Add(time.Second), []members.Member{a, b})
	require.Len(t, n.back, 1)
	assert.Equal(t, nodeB, n.back[0].Address)
	assert.Empty(t, r.silent)

	assert.True(t, r.forget(nodeB), "it is missed by nobody")
	assert.False(t, r.forget(nodeB))
	assert.Empty(t, r.update(at, []members.Member{a}).lost)
	r.update(at, nil)
	require.Len(t, r.silent, 1)
	assert.Empty(t, r.update(at.Add(rememberFor+1), nil).back, "it was too long ago")
	assert.Empty(t, r.silent)
}
