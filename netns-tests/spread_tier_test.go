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

// TestSpreadOverBackends: two load balancers share one address before two servers that run no keepvip. One whose service ends gets no
// connections more; one that dies is known, and its clients are told.
func TestSpreadOverBackends(t *testing.T) {
	t.Parallel()
	s := openSpread(t, trial.Backends())
	for _, got := range shares(t, s, s.Lab.OffLink.Namespace, 400, 2, 30) {
		assert.Equal(t, got.Served(), got.Disguised, "servers see the load balancer")
	}
	for _, e := range trial.BackendEvents() {
		k := keeps(t, s, e, 40)
		assert.Positive(t, k.Dead, e.Name)
	}
}

// TestSpreadOverBackendsWithoutTheHolder: what a load balancer translates ends with it, be it killed or dead. The other one has no connection to
// the backends for what comes then, and says so at once; connections that begin are served.
func TestSpreadOverBackendsWithoutTheHolder(t *testing.T) {
	t.Parallel()
	cfg := trial.Backends()
	cfg.V4 = true
	s := openSpread(t, cfg)
	for _, e := range spreadEvents(t, "the holder's keepvip: kill -9 and start", "the holder's node dies") {
		e.Ends = true
		k := keeps(t, s, e, 60)
		assert.Equal(t, k.Count, k.Lost, e.Name)
		assert.NotContains(t, k.How, lab.NoAnswer, "%s: all are told", e.Name)
		shares(t, s, s.Lab.Client.Namespace, 400, 2, 30)
	}
}
