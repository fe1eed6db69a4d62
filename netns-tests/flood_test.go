//go:build netns

package netnstests

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/keepvip/keepvip/netns-tests/lab"
	"github.com/keepvip/keepvip/netns-tests/trial"
)

// TestFloods: each for a second, one after the other where they are for the same group. cmd/bench prints the table.
func TestFloods(t *testing.T) {
	t.Parallel()
	var labs [][]trial.Flood
	for _, f := range trial.Floods() {
		if f.Config.Interval > 0 {
			continue // other tests run beside this one
		}
		f.Config.Interval = calmInterval
		if i := slices.IndexFunc(labs, func(l []trial.Flood) bool { return f.Shares(l[0]) }); i >= 0 {
			labs[i] = append(labs[i], f)
			continue
		}
		labs = append(labs, []trial.Flood{f})
	}
	for i, floods := range labs {
		t.Run(fmt.Sprintf("lab %d", i+1), func(t *testing.T) {
			t.Parallel()
			g := must(floods[0].Open(host))(t)
			t.Cleanup(func() { finish(t, g) })
			for _, f := range floods {
				t.Run(f.Name, func(t *testing.T) { withstood(t, g, f, 128<<20) })
			}
		})
	}
}

// TestFloodOfMetricsByALocalUser has callers that want the processor as much as any program, so the daemons are real-time, and nothing runs beside it. The
// bench has it with advertisements each 10 ms.
func TestFloodOfMetricsByALocalUser(t *testing.T) {
	floods := trial.Floods()
	f := floods[slices.IndexFunc(floods, func(f trial.Flood) bool { return f.Name == "metrics, the same, 10 ms, realtime" })]
	f.Config.Interval = 100 * time.Millisecond
	g := must(f.Open(host))(t)
	t.Cleanup(func() { finish(t, g) })
	assert.Positive(t, withstood(t, g, f, 40<<20).Rate, "the flood")
}

func withstood(t *testing.T, g *trial.Group, f trial.Flood, rss int64) trial.Flooded {
	t.Helper()
	found := must(f.On(g, time.Second))(t)
	t.Log(found.Findings())
	assert.Zero(t, found.Unexplained(), "transitions")
	assert.Equal(t, found.Asked, found.Served, "others who ask meanwhile")
	assert.LessOrEqual(t, found.Lines, 120)
	assert.LessOrEqual(t, found.RSS, rss)
	return found
}

// One of three hundred clusters on a link: nothing moves, and the one that has the same VRID is named.
func TestOneOfThreeHundredClustersOnALink(t *testing.T) {
	t.Parallel()
	g := open(t, trial.Config{})
	var found trial.Crowded
	stays(t, g, func() *lab.Node {
		holder := settled(t, g)
		found = must(trial.BesideOthers(g, 4*time.Second))(t)
		return holder
	})
	holder := settled(t, g)
	t.Logf("%.0f frames a second of others; the busiest daemon takes %.2f %% of a processor, and %.2f %% without them: %.2f µs a frame",
		found.Sent, found.CPU, found.Idle, (found.CPU-found.Idle)*1e4/found.Sent)
	for _, n := range g.Lab.Nodes {
		status := printed(t, n, "status")
		assert.Contains(t, status, "[KV304]", n.Label)
		assert.Contains(t, status, g.Neighbour().String(), n.Label)
		eventually(t, trial.SettleLimit, n.Label+" names the holder", func() bool {
			holder = settled(t, g)
			return statusOf(t, n).VIPs[0].Holder == holder.Address.String()
		})
		assert.LessOrEqual(t, strings.Count(g.Daemon(n).Log(), "\n"), 60, "log lines of %s", n.Label)
	}
}
