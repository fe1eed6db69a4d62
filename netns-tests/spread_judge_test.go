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
	s, err := trial.OpenSpread(host, cfg)
	require.NoError(t, err)
	t.Cleanup(func() {
		if t.Failed() {
			t.Log(s.Tables())
		}
		finish(t, s.Group)
	})
	return s
}

// keeps has something happen to connections, and asserts that none of those that can be kept is lost, and that clients of a dead server are
// told. It returns false where nothing can be said of it: then the group is not whole any more.
func keeps(t *testing.T, s *trial.Spreading, e trial.SpreadEvent, count int) (trial.Kept, bool) {
	t.Helper()
	k, err := s.Keep(e, count)
	require.NoError(t, err, e.Name)
	if k.NotJudged != "" {
		notJudged(t, "%s: %s", e.Name, k.NotJudged)
		return k, false
	}
	t.Logf("%s: %s", e.Name, k.Findings(e))
	for _, left := range k.Findings(e).NotJudged() {
		notJudged(t, "%s: %s", e.Name, left)
	}
	if !e.Ends {
		assert.Zero(t, k.Lost, "%s: %s", e.Name, k.How)
		limit := 2 * time.Second
		if k.Room >= trial.Shaken { // TCP asks again 0.2, 0.6, 1.4 and 3 s after what was not answered
			limit = 4 * time.Second
		}
		assert.LessOrEqual(t, k.StallBeyond, limit, "%s: a connection that lives goes on", e.Name)
	}
	assert.Zero(t, k.Silent, "%s: clients of the dead are told", e.Name)
	assert.LessOrEqual(t, k.ToldBeyond, 5*time.Second, "%s: soon", e.Name)
	return k, true
}

// unharmedBut asserts that of connections none was lost but shortly after the machine had stood still.
func unharmedBut(t *testing.T, machine *lab.Report, r lab.HeldReport) {
	t.Helper()
	excused := r.Excused(machine, trial.Shaken)
	if lost := excused.Lost(); lost > 0 {
		notJudged(t, "%d connections of %s were lost shortly after the machine had stood still: %s", lost, r.Client, excused.Failures())
	}
	assert.Equal(t, excused.Lost(), r.Lost(), "connections of %s: %s", r.Client, r.Failures())
}

// shares asserts that new connections of a client are served by so many members, each of which has its share, in per cent of which it may be off.
func shares(t *testing.T, s *trial.Spreading, from *lab.Namespace, count, members int, limit float64) (all []trial.Shared) {
	t.Helper()
	for _, target := range s.Targets() {
		got, err := s.Share(from, target, count)
		require.NoError(t, err)
		found := got.Findings(members, limit)
		t.Logf("%s: %s", from.Name, found)
		for _, left := range found.NotJudged() {
			notJudged(t, "%s: %s", from.Name, left)
		}
		assert.Empty(t, found.Over(1), from.Name)
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
		assert.Less(t, c.Lost-at, 3*time.Second)
	}
	t.Logf("%d connections to the dead node ended %v after its death: %s", len(died.Conns), died.Conns[0].Lost-at, died.Conns[0].How)
}
