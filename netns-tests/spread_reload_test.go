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
// those of the holder from after.
func TestSpreadTurnedOnAndOffKeepsConnections(t *testing.T) {
	t.Parallel()
	s := openSpread(t, trial.SpreadConfig{Product: trial.WithSpread{Off: true}, Both: true})
	if k, judged := keeps(t, s, trial.TurnedOnAndOff(120), 40); judged {
		assert.Equal(t, 200, k.Count)
	}
}

// TestSpreadHolderServesWhileNobodyIsFit by itself, as without spreading.
func TestSpreadHolderServesWhileNobodyIsFit(t *testing.T) {
	t.Parallel()
	s := openSpread(t, trial.SpreadConfig{V4: true, Product: trial.WithSpread{Checked: true}})
	for _, n := range s.Lab.Nodes {
		_, err := n.WriteFile("unhealthy", "", 0o644)
		require.NoError(t, err)
	}
	require.NoError(t, s.ServedByHolder())
	for _, n := range s.Lab.Nodes {
		require.NoError(t, os.Remove(trial.Unhealthy(n)))
	}
	require.NoError(t, s.Ready())
}
