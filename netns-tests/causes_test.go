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

// Whoever asks any node why the address moved gets the same code: the holder before, the one after, and the third.
func TestEveryNodeNamesTheCauseOfAMove(t *testing.T) {
	t.Parallel()
	g := opened(t, func(h *lab.Host, _ trial.Config) (*trial.Group, error) { return trial.OpenCauses(h, nil) }, trial.Config{})
	holder := settled(t, g)
	for _, n := range g.Lab.Nodes {
		log, want := g.Daemon(n).Log(), "code=KV108"
		if n == holder {
			want = "code=KV102"
		}
		assert.Contains(t, log, want, "the start, on %s", n.Label)
	}
	for _, c := range trial.Causes() {
		if c.Alone == nil {
			namesCause(t, g, &c)
		}
	}
}

// What cannot follow something else has a lab of its own.
func TestEveryNodeNamesTheCauseOfAMoveBySettings(t *testing.T) {
	t.Parallel()
	for _, c := range trial.Causes() {
		if c.Alone == nil {
			continue
		}
		t.Run(c.Name, func(t *testing.T) {
			t.Parallel()
			g := opened(t, func(h *lab.Host, _ trial.Config) (*trial.Group, error) { return trial.OpenCauses(h, c.Alone) }, trial.Config{})
			namesCause(t, g, &c)
		})
	}
}

func namesCause(t *testing.T, g *trial.Group, c *trial.Cause) {
	t.Helper()
	wire := must(g.Lab.Measure(lab.MeasureConfig{NoDirect: true}))(t)
	m := must(c.Happened(g))(t)
	var unsaid []string
	for end := time.Now().Add(5 * time.Second); time.Now().Before(end); settleFor(200 * time.Millisecond) {
		if unsaid = m.Unsaid(g); len(unsaid) == 0 {
			break
		}
	}
	silent := 0
	if c.After.Code == "KV103" {
		silent = 1
	}
	if r := wire.Stop(); r.BySilence(0) <= silent { // else the newest move is another one
		assert.Empty(t, unsaid)
	}
	if c.Mend != nil {
		require.NoError(t, c.Mend(g, m.Before))
	}
}
