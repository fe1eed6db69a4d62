//go:build netns

package netnstests

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/keepvip/keepvip/netns-tests/trial"
)

// A drill leaves the address where it was, or says that no other node took it in time, which the capture must not refute. It is refused while another node
// is not well.
func TestDrillMeasuresWhatAClientSees(t *testing.T) {
	t.Parallel()
	g := open(t, trial.Config{API: true})
	for kind, silences := range map[string]int{"handover": 0, "stop": 1, "check": 0} {
		run, err := g.Drill(kind)
		require.NoError(t, err, g.Logs())
		t.Logf("%s: the lab's client missed %v, the bystander %v, at most %v is documented; not taken in time: %v", kind, run.Outage, run.Bystander.Missed(),
			time.Duration(run.Bystander.Bound*float64(time.Second)), run.NotTaken)
		if run.Result.Report.Silences(0) <= silences { // else the address has moved without the drill, too
			assert.NoError(t, run.Judge())
		}
		assert.Zero(t, run.Finders, "time with two nodes answering ARP in %s", kind)
	}
	holder := settled(t, g)
	backup := g.Lab.Nodes[holder.ID%3]
	assert.Equal(t, 1, command(t, backup, "drill", "apiserver"), "it holds nothing")
	require.Equal(t, 0, command(t, backup, "drain"))
	knowsUnfit(t, holder, backup)
	refused(t, g, "another one is drained", "drill", "apiserver")
}

// Whatever breaks a drill, one node holds the address afterwards, and two never answered.
func TestBrokenDrillLeavesAWorkingCluster(t *testing.T) {
	t.Parallel()
	g := open(t, trial.Config{API: true})
	for how, after := range map[trial.DrillBreak]time.Duration{
		trial.BreakCommand: 600 * time.Millisecond, trial.BreakDaemon: 800 * time.Millisecond,
	} {
		res := measure(t, g, trial.DrillBroken("stop", after, how))
		assert.Zero(t, res.Finders, res.Fault)
	}
}
