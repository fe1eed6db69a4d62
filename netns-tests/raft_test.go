//go:build netns

package netnstests

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/keepvip/keepvip/netns-tests/trial"
)

func TestRaftFaults(t *testing.T) {
	t.Parallel()
	cfg := trial.RaftConfig(trial.Raft{})
	cfg.API = true
	g := open(t, cfg)
	for _, c := range []struct {
		name  string
		fault trial.Fault
	}{
		{"node death", trial.NodeDeath},
		{"SIGSTOP", trial.Frozen(3 * time.Second)},
		{"SIGTERM", trial.Terminated},
		{"apiserver", trial.APIKilled},
		{"kill -9", trial.DaemonKilled},
	} {
		t.Run(c.name, func(t *testing.T) {
			require.NoError(t, g.Voters(10*time.Second, g.Lab.Nodes...))
			settleFor(time.Second) // a node that has just started does not vote at once
			res := measure(t, g, c.fault)
			assert.Zero(t, res.Two, "two nodes answering")
		})
	}
}

// The client and the monitor reach every node all the time, so that two that answer would be seen. Which partitions there may be is for the nodes in
// virtual time, with random faults, and for the bench.
func TestRaftPartitionWithSteppedClocks(t *testing.T) {
	t.Parallel()
	res := counted(t, trial.RaftConfig(trial.RaftOwnClocks()), trial.ClocksStepped(time.Hour))
	assert.Zero(t, res.Two, "two nodes answering")
}

// Two of three die: the third says everywhere that nobody can hold the address, until one of them is back.
func TestRaftAloneOfThreeSaysSo(t *testing.T) {
	t.Parallel()
	r := trial.Raft{Keepvip: trial.Keepvip{Args: []string{"--metrics", "127.0.0.1:9645"}}}
	g := open(t, trial.RaftConfig(r))
	require.NoError(t, g.Voters(10*time.Second, g.Lab.Nodes...))
	left, ready := g.Lab.Nodes[0], func() string {
		return must(g.Lab.Nodes[0].Run("curl", "-s", "-w", " %{http_code}", "http://127.0.0.1:9645/readyz"))(t)
	}
	metrics := func() string {
		return must(left.Run("curl", "-s", "http://127.0.0.1:9645/metrics"))(t)
	}
	assert.Contains(t, ready(), " 200")
	shown := func(line string) { // metrics are made anew every half second
		eventually(t, 5*time.Second, line, func() bool { return strings.Contains(metrics(), "\n"+line+"\n") })
	}
	shown("keepvip_raft_quorum 1")
	shown("keepvip_raft_voters_heard 3")
	for _, n := range g.Lab.Nodes[1:] {
		require.NoError(t, g.Daemon(n).Kill9())
	}
	eventually(t, 10*time.Second, "not ready", func() bool { return strings.Contains(ready(), "NO QUORUM: 1 of 3 voters heard, want 2") })
	assert.Contains(t, ready(), " 503")
	st := must(trial.Keepvip{}.Status(left))(t)
	assert.Equal(t, "fault", st.VIPs[0].Observed)
	assert.Equal(t, "NO QUORUM: 1 of 3 voters heard, want 2", st.VIPs[0].Reason)
	assert.Empty(t, st.VIPs[0].Holder)
	text, _ := mustTwo(trial.Keepvip{}.Command(left, "status", "--socket", trial.Socket(left)))(t)
	assert.Regexp(t, `\nNO QUORUM: 1 of 3 voters heard, want 2: no node can hold .* \[KV501\]\nraft term \d+, no leader for \S+, 1 of 3 voters heard\n`, text.Stdout())
	shown("keepvip_raft_quorum 0")
	assert.NotContains(t, metrics(), "\nkeepvip_raft_leader{")
	require.NoError(t, g.Start(g.Lab.Nodes[1]))
	eventually(t, 10*time.Second, "ready again", func() bool { return strings.Contains(ready(), " 200") })
	shown("keepvip_raft_quorum 1")
}

// Two elections beside each other on one link: the addresses stay with the holder of the one until it has stopped.
func TestElectionIsChangedNodeByNode(t *testing.T) {
	t.Parallel()
	for _, unicast := range []bool{false, true} {
		t.Run(map[bool]string{false: "multicast", true: "unicast"}[unicast], func(t *testing.T) {
			t.Parallel()
			g := open(t, trial.Config{Product: trial.AllVRRP(unicast)})
			for _, back := range []bool{false, true} {
				if back && unicast {
					break
				}
				res := measure(t, g, trial.ChangeElection)
				assert.Zero(t, res.Two, res.Fault)
				assert.Zero(t, res.Finders, res.Fault)
				assert.NotZero(t, res.Takeovers, res.Fault)
			}
		})
	}
}

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
	holder := settled(t, g)
	found := must(trial.BesideOthers(g, 4*time.Second))(t)
	t.Logf("%.0f frames a second of others; the busiest daemon takes %.2f %% of a processor, and %.2f %% without them: %.2f µs a frame",
		found.Sent, found.CPU, found.Idle, (found.CPU-found.Idle)*1e4/found.Sent)
	for _, n := range g.Lab.Nodes {
		p, _ := mustTwo(trial.Keepvip{}.Command(n, "status", "--socket", trial.Socket(n)))(t)
		assert.Contains(t, p.Stdout(), "[KV304]", n.Label)
		assert.Contains(t, p.Stdout(), g.Neighbour().String(), n.Label)
		assert.Equal(t, holder.Address.String(), statusOf(t, n).VIPs[0].Holder, n.Label)
		assert.LessOrEqual(t, strings.Count(g.Daemon(n).Log(), "\n"), 60, "log lines of %s", n.Label)
	}
}
