//go:build netns

package netnstests

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/keepvip/keepvip/netns-tests/lab"
	"github.com/keepvip/keepvip/netns-tests/trial"
)

// A node boots at a port of the switch that forwards nothing yet, as one with spanning tree does. It hears nobody, and holds the address for nobody. When the port
// forwards the node that serves keeps the address, although the late one has the highest address, and what cures it is named.
func TestNodeWhosePortForwardsLateTakesNothing(t *testing.T) {
	t.Parallel() // seconds of waiting for timers
	g := prepare(t, trial.Config{})
	late := g.Lab.Nodes[2]
	for _, n := range g.Lab.Nodes[:2] {
		require.NoError(t, g.Start(n))
	}
	var serving *lab.Node
	eventually(t, 20*time.Second, "the others have a holder", func() bool {
		h := g.Holders()
		if len(h) == 1 {
			serving = h[0]
		}
		return len(h) == 1
	})
	_, err := late.CutPort()
	require.NoError(t, err)
	require.NoError(t, g.Start(late))
	eventually(t, 20*time.Second, "it takes the address, as it hears nobody", func() bool { return late.Holds(lab.VIP4) })
	settleFor(2 * time.Second) // longer than two nodes that start at one moment take to hear of each other
	m, err := g.Lab.Measure(lab.MeasureConfig{NoDirect: true})
	require.NoError(t, err)
	before := g.Daemon(serving).Log()
	_, err = late.HealPort()
	require.NoError(t, err)
	eventually(t, 20*time.Second, "it yields", func() bool { return !late.Holds(lab.VIP4) })
	eventually(t, 20*time.Second, "a client is answered", func() bool {
		return g.Lab.Reaches(g.Lab.Client.Namespace, lab.VIP4, time.Second)
	})
	if r := m.Stop(); r.BySilence(0) == 0 {
		assert.NotContains(t, strings.TrimPrefix(g.Daemon(serving).Log(), before), "from=active", "the one that serves keeps the address")
	}
	t.Log(g.Daemon(late).Log())
}
