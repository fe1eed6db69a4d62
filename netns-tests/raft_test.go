//go:build netns

package netnstests

import (
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
	st := statusOf(t, left)
	assert.Equal(t, "fault", st.VIPs[0].Observed)
	assert.Equal(t, "NO QUORUM: 1 of 3 voters heard, want 2", st.VIPs[0].Reason)
	assert.Empty(t, st.VIPs[0].Holder)
	assert.Regexp(t, `\nNO QUORUM: 1 of 3 voters heard, want 2: no node can hold .* \[KV501\]\nraft term \d+, no leader for \S+, 1 of 3 voters heard\n`, printed(t, left, "status"))
	shown("keepvip_raft_quorum 0")
	assert.NotContains(t, metrics(), "\nkeepvip_raft_leader{")
	require.NoError(t, g.Start(g.Lab.Nodes[1]))
	eventually(t, 10*time.Second, "ready again", func() bool { return strings.Contains(ready(), " 200") })
	shown("keepvip_raft_quorum 1")
}

// Two elections beside each other on one link: the addresses stay with the holder of the one until it has stopped.
func TestElectionIsChangedNodeByNode(t *testing.T) {
	each(t, map[string]bool{"multicast": false, "unicast": true}, func(t *testing.T, unicast bool) {
		// With a node of each kind left, nothing but its lease keeps the one that stands still from holding the address beside the other.
		g := open(t, trial.Config{Product: trial.AllVRRP(unicast), Interval: time.Second})
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
