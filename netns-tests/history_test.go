//go:build netns

package netnstests

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/keepvip/keepvip/internal/base/code"
	"github.com/keepvip/keepvip/internal/node/daemon"
	"github.com/keepvip/keepvip/internal/node/history"
	"github.com/keepvip/keepvip/netns-tests/lab"
	"github.com/keepvip/keepvip/netns-tests/trial"
)

// historyOf is what a node remembers, whether its keepvip runs or not.
func historyOf(t *testing.T, n *lab.Node) (doc daemon.History, newest history.Record) {
	t.Helper()
	p, exit := mustTwo(trial.Keepvip{}.Command(n, "history", "-o", "json", "--socket", trial.Socket(n), "--state-dir", n.Path("state")))(t)
	require.Zero(t, exit, p.Stderr())
	require.NoError(t, json.Unmarshal([]byte(p.Stdout()), &doc))
	require.NotEmpty(t, doc.Transitions)
	return doc, doc.Transitions[len(doc.Transitions)-1]
}

// A handover, and a kill of the new holder: every node has both, those that only hear of it, too; and the one that was killed goes on with what
// it had.
func TestHistoryIsTheSameOnAllNodesAndSurvivesAKill(t *testing.T) {
	t.Parallel()
	g, first := openHeld(t, trial.Config{})
	measure(t, g, trial.Verb("handover"))
	second := settled(t, g)
	for _, n := range g.Lab.Nodes {
		eventually(t, 5*time.Second, n.Label+" has the handover", func() bool {
			_, r := historyOf(t, n)
			return r.NewHolder.Address == second.Address
		})
		_, r := historyOf(t, n)
		assert.Equal(t, first.Address, r.OldHolder.Address, n.Label)
		assert.NotEmpty(t, r.OldHolder.Name, n.Label)
	}

	before, _ := historyOf(t, second)
	require.NoError(t, g.Daemon(second).Kill9())
	must(g.Daemon(second).Wait(2 * time.Second))(t)
	left, _ := historyOf(t, second)
	assert.Equal(t, second.Path("state/history.log"), left.File, "without a keepvip it is read from the file")
	assert.Equal(t, before.Transitions, left.Transitions, "a kill loses nothing")
	third := settled(t, g)
	for _, n := range g.Others(second) {
		eventually(t, 5*time.Second, n.Label+" has the takeover", func() bool {
			_, r := historyOf(t, n)
			return r.NewHolder.Address == third.Address
		})
		_, r := historyOf(t, n)
		assert.Equal(t, second.Address, r.OldHolder.Address, n.Label)
		assert.Equal(t, code.ProcessEnded, r.Code, "%s: its kernel said that it was gone", n.Label)
	}

	require.NoError(t, g.Start(second))
	eventually(t, 10*time.Second, "the killed one goes on", func() bool {
		doc, r := historyOf(t, second)
		return doc.File == "" && r.NewHolder.Address == third.Address
	})
	after, r := historyOf(t, second)
	require.Greater(t, len(after.Transitions), len(before.Transitions))
	assert.Equal(t, before.Transitions, after.Transitions[:len(before.Transitions)])
	assert.Equal(t, uint64(len(after.Transitions)), r.Number)
	assert.Nil(t, after.Problem)
}
