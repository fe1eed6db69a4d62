//go:build netns

package netnstests

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/keepvip/keepvip/netns-tests/lab"
	"github.com/keepvip/keepvip/netns-tests/trial"
)

// TestTierOfBalancersKeepsConnections: two machines hold the address and serve nothing, three serve and never hold it, with one file. No
// connection is lost by what happens to the former.
func TestTierOfBalancersKeepsConnections(t *testing.T) {
	t.Parallel()
	s := openSpread(t, trial.TierOf(1))
	members := s.Lab.Nodes[2:]
	for _, e := range trial.TierEvents()[:3] { // the others are the bench's
		k, err := s.Keep(e, 120)
		require.NoError(t, err, e.Name)
		t.Logf("%s: %s", e.Name, k.Findings(e))
		if k.Lost > 0 && !k.Judged() {
			notJudged(t, "%s: %d of %d connections were lost, the machine stood still for %s ms within a second", e.Name, k.Lost, k.Count, lab.Milliseconds(k.Room))
			continue
		}
		assert.Zero(t, k.Lost, "%s: %s", e.Name, k.How)
		assert.Zero(t, k.Disguised, "servers see the client's own address")
		assert.Zero(t, k.Silent, "clients of the dead are told")
		assert.LessOrEqual(t, k.Stall, 2*time.Second+k.Room, "%s: a connection that lives goes on", e.Name)
	}
	for _, n := range members {
		status, err := trial.Keepvip{}.Status(n)
		require.NoError(t, err)
		assert.Equal(t, "member", status.VIPs[0].Observed, "%s", n.Label)
	}
	for _, n := range s.Lab.Nodes[:2] {
		_, err := n.PowerOff()
		require.NoError(t, err)
	}
	none := func() bool { return len(s.Holders()) == 0 }
	require.Eventually(t, none, 20*time.Second, 50*time.Millisecond, "no balancer is left")
	assert.Never(t, func() bool { return !none() }, time.Second, 20*time.Millisecond, "no member takes the address")
}
