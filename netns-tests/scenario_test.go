//go:build netns

package netnstests

import (
	"flag"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/keepvip/keepvip/netns-tests/lab"
	"github.com/keepvip/keepvip/netns-tests/trial"
)

var scenarioSeed = flag.Uint64("scenario-seed", 1, "of the check scripts that keepalived and keepvip are given")

// decisions are what a check's results led to: + when it became good, - when it became bad.
type decisions map[int]string

// decided reads them in a log, in which a check is named check_ID or check-ID.
func decided(log string, line *regexp.Regexp) decisions {
	out := decisions{}
	for _, m := range line.FindAllStringSubmatch(log, -1) {
		id, _ := strconv.Atoi(m[1])
		out[id] += map[string]string{"succeeded": "+", "true": "+"}[m[2]]
		if m[2] == "failed" || m[2] == "false" {
			out[id] += "-"
		}
	}
	return out
}

var (
	keepalivedDecides = regexp.MustCompile(`VRRP_Script\(check_(\d+)\) (succeeded|failed)`)
	keepvipDecides    = regexp.MustCompile(`msg="health changed" .*check=check-(\d+) healthy=(true|false)`)
	keepalivedWeighs  = regexp.MustCompile(`\(VI_(\d+)\) Changing effective priority from \d+ to (\d+)`)
)

// runScenarios runs them on a node of their own until every script was run so often that nothing can change any more. The scripts are not short of
// time, so that a machine that is late changes no decision.
func runScenarios(t *testing.T, all []trial.Scenario, run program) (*lab.Node, *lab.Process) {
	t.Helper()
	l := must(host.Open(lab.Config{Nodes: 1}))(t)
	t.Cleanup(l.Close)
	n := l.Nodes[0]
	p := must(run(n, must(trial.WriteScenarios(n, all))(t)))(t)
	eventually(t, 3*time.Minute, "every script was run often enough", func() bool {
		return !slices.ContainsFunc(all, func(s trial.Scenario) bool { return !s.Over(n) })
	})
	require.True(t, p.Alive(), p.Log())
	return n, p
}

// With the same file, and scripts that fail in the same way, keepvip takes the same decisions as keepalived: rise, fall, interval, weight,
// init_fail and the way in which the runs end are drawn.
func TestCheckScriptsDecideAsInKeepalived(t *testing.T) {
	all := trial.Scenarios(*scenarioSeed, 30)
	var nodes [2]*lab.Node
	var daemons [2]*lab.Process
	var both sync.WaitGroup
	for i, run := range []program{trial.RunKeepalivedFile, trial.KeepvipWith} {
		both.Go(func() { nodes[i], daemons[i] = runScenarios(t, all, run) })
	}
	both.Wait()
	require.False(t, t.Failed())
	theirs, ours := decided(daemons[0].Log(), keepalivedDecides), decided(daemons[1].Log(), keepvipDecides)
	weights := map[int]int{}
	for _, m := range keepalivedWeighs.FindAllStringSubmatch(daemons[0].Log(), -1) {
		id, _ := strconv.Atoi(m[1])
		weights[id], _ = strconv.Atoi(m[2])
	}
	changes := 0
	for _, s := range all {
		changes += len(theirs[s.ID])
		assert.Equal(t, theirs[s.ID], ours[s.ID], "%+v", s)
		if want, weighs := weights[s.ID]; weighs {
			eventually(t, 30*time.Second, fmt.Sprintf("%+v: priority %d in the end", s, want), func() bool {
				status, err := trial.Keepvip{}.Status(nodes[1])
				return err == nil && slices.ContainsFunc(status.VIPs, func(v trial.VIPStatus) bool { return v.VRID == s.ID && v.Priority == want })
			})
		}
	}
	t.Logf("%d scenarios, %d changes", len(all), changes)
	assert.Greater(t, changes, len(all))
}
