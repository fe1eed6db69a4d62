//go:build netns

package netnstests

import (
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/keepvip/keepvip/netns-tests/trial"
)

// TestSpreadTurnedOnAndOffKeepsConnections: those of the holder from before, which no connection tracking has seen, those that were spread, and
// those of the holder from after. In reverse the holder is the first node to begin, and the last to end. A port that is added keeps those of the holder
// from before. Each happens to 40 connections, and to those that it makes itself.
func TestSpreadTurnedOnAndOffKeepsConnections(t *testing.T) {
	type row struct {
		event trial.SpreadEvent
		other bool // another port is spread all the time
		count int
	}
	each(t, map[string]row{
		"in order":        {trial.TurnedOnAndOff(120, false), false, 200},
		"in reverse":      {trial.TurnedOnAndOff(120, true), false, 200},
		"a port is added": {trial.PortAdded(120), true, 160},
	}, func(t *testing.T, c row) {
		s := openSpread(t, trial.SpreadConfig{Product: trial.WithSpread{Off: true, Other: c.other}, Both: true})
		assert.Equal(t, c.count, keeps(t, s, c.event, 40).Count)
	})
}

// TestSpreadHolderServesWhileNobodyIsFit by itself, as without spreading.
func TestSpreadHolderServesWhileNobodyIsFit(t *testing.T) {
	t.Parallel()
	s := openSpread(t, trial.SpreadConfig{V4: true, Product: trial.WithSpread{Checked: true}})
	for _, n := range s.Lab.Nodes {
		must(n.WriteFile("unhealthy", "", 0o644))(t)
	}
	require.NoError(t, s.ServedByHolder())
	for _, n := range s.Lab.Nodes {
		require.NoError(t, os.Remove(trial.Unhealthy(n)))
	}
	require.NoError(t, s.Ready())
}
