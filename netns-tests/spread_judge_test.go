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

func openSpread(t *testing.T, cfg trial.SpreadConfig) *trial.Spreading {
	t.Helper()
	if cfg.Interval == 0 {
		cfg.Interval = calmInterval
	}
	s := must(trial.OpenSpread(host, cfg))(t)
	t.Cleanup(func() {
		if t.Failed() {
			t.Log(s.Tables())
		}
		finish(t, s.Group)
	})
	return s
}

// eachWay runs a test for a load that is spread directly, and by masquerade.
func eachWay(t *testing.T, test func(t *testing.T, masquerade bool)) {
	t.Helper()
	each(t, map[string]bool{"direct": false, "masquerade": true}, test)
}

// keeps has something happen to connections, and asserts that none of those that can be kept is lost, and that clients of a dead server are
// told.
func keeps(t *testing.T, s *trial.Spreading, e trial.SpreadEvent, count int) trial.Kept {
	t.Helper()
	k, err := s.Keep(e, count)
	require.NoError(t, err, e.Name)
	t.Logf("%s: %s", e.Name, k.Findings(e))
	ends := e.Ends || (e.Own || k.Disguised > 0) && k.Silences > 0 // what a holder translates ends where it ceases to advertise
	if !ends {
		assert.Zero(t, k.Lost, "%s: %s", e.Name, k.How)
	}
	assert.Zero(t, k.Silent, "%s: clients of the dead are told", e.Name)
	return k
}

// noneLost asserts that all connections were answered to the end.
func noneLost(t *testing.T, r lab.HeldReport) {
	t.Helper()
	assert.Zero(t, r.Lost(), "connections of %s: %s", r.Client, r.Failures())
}

// sharing is for how long is looked whether connections are shared: a member that did not run for a moment gets none meanwhile.
const sharing = 20 * time.Second

// shares asserts that new connections of a client come to be served by so many members, each of which has its share, in per cent of which it may
// be off.
func shares(t *testing.T, s *trial.Spreading, from *lab.Namespace, count, members int, limit float64) (all []trial.Shared) {
	t.Helper()
	for _, target := range s.Targets() {
		var got trial.Shared
		var over []string
		for end := time.Now().Add(sharing); time.Now().Before(end); settleFor(time.Second) {
			got = must(s.Share(from, target, count))(t)
			found := got.Findings(members, limit)
			t.Logf("%s: %s", from.Name, found)
			if over = found.Over(1); len(over) == 0 {
				break
			}
		}
		assert.Empty(t, over, from.Name)
		all = append(all, got)
	}
	return all
}

// endedWith asserts that connections to a node that died at that time were ended soon, and no others.
func endedWith(t *testing.T, r lab.HeldReport, dead *lab.Node, at time.Duration) {
	t.Helper()
	died := r.Of(dead)
	require.NotEmpty(t, died.Conns)
	assert.Zero(t, r.Without(dead).Lost(), "%s", r.Without(dead).Failures())
	for _, c := range died.Conns {
		require.NotZero(t, c.Lost)
		assert.NotEqual(t, lab.NoAnswer, c.How, "a connection to the dead node was ended")
	}
	t.Logf("%d connections to the dead node ended %v after its death: %s", len(died.Conns), died.Conns[0].Lost-at, died.Conns[0].How)
}
