//go:build netns

package netnstests

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/keepvip/keepvip/netns-tests/trial"
)

// TestTierOfBalancersKeepsConnections: two machines hold the address and serve nothing, three serve and never hold it, with one file. No
// connection is lost by what happens to the former.
func TestTierOfBalancersKeepsConnections(t *testing.T) {
	t.Parallel()
	s := openSpread(t, trial.TierOf(1))
	members := s.Lab.Nodes[2:]
	for _, e := range trial.TierEvents()[:3] { // the others are the bench's
		k := keeps(t, s, e, 120)
		assert.Zero(t, k.Disguised, "servers see the client's own address")
	}
	for _, n := range members {
		eventually(t, trial.SettleLimit, n.Label+" is a member", shows(n, func(v trial.VIPStatus) bool { return v.Observed == "member" }))
	}
	for _, n := range s.Lab.Nodes[:2] {
		must(n.PowerOff())(t)
	}
	none := func() bool { return len(s.Holders()) == 0 }
	require.True(t, eventually(t, trial.SettleLimit, "no balancer is left", none))
	assert.Never(t, func() bool { return !none() }, time.Second, 20*time.Millisecond, "no member takes the address")
}
