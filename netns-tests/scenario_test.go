//go:build netns

package netnstests

import (
	"flag"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/keepvip/keepvip/netns-tests/lab"
	"github.com/keepvip/keepvip/netns-tests/trial"
)

var scenarioSeed = flag.Uint64("scenario-seed", 1, "of the check scripts that keepalived and keepvip are given")

// decisions runs the scenarios on a node beside rivals on another, and says for each when the node took its address and gave it up.
func decisions(t *testing.T, all []trial.Scenario, run func(n *lab.Node, conf string) (*lab.Process, error)) (states, times map[int]string) {
	t.Helper()
	l, err := host.Open(lab.Config{Nodes: 2})
	require.NoError(t, err)
	t.Cleanup(l.Close)
	own, rival := l.Nodes[0], l.Nodes[1]
	_, err = trial.RunRivals(rival, all)
	require.NoError(t, err)
	eventually(t, 10*time.Second, "the rivals hold all", func() bool {
		for _, s := range all {
			if !rival.Holds(s.Address()) {
				return false
			}
		}
		return true
	})
	conf, err := trial.WriteScenarios(own, all)
	require.NoError(t, err)
	m, err := l.Measure(lab.MeasureConfig{Name: "scenarios", NoDirect: true})
	require.NoError(t, err)
	at := m.Mark("start")
	p, err := run(own, conf)
	require.NoError(t, err)
	settleFor(trial.ScenarioEnd)
	r := m.Stop()
	require.True(t, p.Alive(), p.Log())
	states, times = map[int]string{}, map[int]string{}
	for _, s := range all {
		var when []string
		for _, b := range r.Binds {
			if b.Node == own.ID && b.Address == s.Address() {
				states[s.ID] += map[bool]string{true: "+", false: "-"}[b.Added]
				when = append(when, fmt.Sprintf("%.1f", (b.At-at).Seconds()))
			}
		}
		times[s.ID] = strings.Join(when, " ")
	}
	return states, times
}

// With the same file, and scripts that fail in the same way, keepvip takes the same decisions as keepalived: rise, fall, interval, weight,
// init_fail and the way in which the runs end are drawn. Fifty scripts begin in each second: beside other tests neither of the two would be on time.
func TestCheckScriptsDecideAsInKeepalived(t *testing.T) {
	all := trial.Scenarios(*scenarioSeed, 30)
	var states, times [2]map[int]string
	var both sync.WaitGroup
	for i, run := range []func(*lab.Node, string) (*lab.Process, error){trial.RunKeepalivedFile, trial.KeepvipWith} {
		both.Go(func() { states[i], times[i] = decisions(t, all, run) })
	}
	both.Wait()
	moves := 0
	for _, s := range all {
		theirs, ours := states[0][s.ID], states[1][s.ID]
		moves += len(theirs)
		assert.Equal(t, theirs, ours, "%+v: keepalived at %s s, keepvip at %s s", s, times[0][s.ID], times[1][s.ID])
	}
	t.Logf("%d scenarios, %d moves", len(all), moves)
	assert.Greater(t, moves, len(all))
}
