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
	keepsAll(t, trial.WithSpread{Off: true}, trial.TurnedOnAndOff(120, false), 200)
}

// TestSpreadTurnedOnAndOffInReverseKeepsConnections: the holder is the first node to begin, and the last to end.
func TestSpreadTurnedOnAndOffInReverseKeepsConnections(t *testing.T) {
	t.Parallel()
	keepsAll(t, trial.WithSpread{Off: true}, trial.TurnedOnAndOff(120, true), 200)
}

// TestSpreadPortAddedKeepsConnections: those of the holder from before the port was spread.
func TestSpreadPortAddedKeepsConnections(t *testing.T) {
	t.Parallel()
	keepsAll(t, trial.WithSpread{Off: true, Other: true}, trial.PortAdded(120), 160)
}

// keepsAll has an event happen to 40 connections, and to those that it makes itself.
func keepsAll(t *testing.T, product trial.WithSpread, e trial.SpreadEvent, count int) {
	t.Helper()
	s := openSpread(t, trial.SpreadConfig{Product: product, Both: true})
	assert.Equal(t, count, keeps(t, s, e, 40).Count)
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
