//go:build netns

package netnstests

import (
	"encoding/hex"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/keepvip/keepvip/netns-tests/lab"
	"github.com/keepvip/keepvip/netns-tests/trial"
)

// raftInterval is the advertisement interval whose lease is as long as that of raft at its defaults: 440 ms.
const raftInterval = 150 * time.Millisecond

// byRaft is keepvip with an election by raft among the first three nodes of a lab.
func byRaft(t *testing.T, args ...string) trial.Keepvip {
	t.Helper()
	key := filepath.Join(t.TempDir(), "key")
	require.NoError(t, os.WriteFile(key, []byte(hex.EncodeToString([]byte(strings.Repeat("k", 32)))), 0o600))
	return trial.Keepvip{Args: append([]string{
		"--election", "raft", "--key-file", key, "--raft-peer", "10.77.0.11,10.77.0.12,10.77.0.13",
	}, args...)}
}

func TestRaftStarts(t *testing.T) {
	for _, order := range [][]int{{1, 2, 3}, {3, 1, 2}, {2, 3}} {
		g := prepare(t, trial.Config{Product: byRaft(t), Interval: raftInterval})
		require.NoError(t, g.Start(g.Lab.Nodes[order[0]-1]))
		settleFor(1500 * time.Millisecond)
		assert.Empty(t, g.Holders(), "one of three holds nothing")
		require.NoError(t, g.Start(g.Lab.Nodes[order[1]-1]))
		began := time.Now()
		eventually(t, 3*time.Second, "a holder", func() bool { return len(g.Holders()) == 1 })
		t.Logf("start order %v: a holder after %v", order, time.Since(began))
		if len(order) > 2 {
			require.NoError(t, g.Start(g.Lab.Nodes[order[2]-1]))
		}
		settleFor(2 * time.Second)
		assert.Len(t, g.Holders(), 1)
		s, err := byRaft(t).Status(g.Holders()[0])
		require.NoError(t, err)
		assert.True(t, s.VIPs[0].Fence.Standing, s.VIPs[0].Fence.Reason)
		g.Close()
	}
}

func TestRaftFaults(t *testing.T) {
	g := open(t, trial.Config{Product: byRaft(t), Interval: raftInterval, API: true})
	settleFor(2 * time.Second)
	for _, c := range []struct {
		name   string
		fault  trial.Fault
		outage time.Duration
	}{
		{"node death", trial.NodeDeath, 2500 * time.Millisecond},
		{"partition", trial.Partition(3 * time.Second), 2500 * time.Millisecond},
		{"SIGSTOP", trial.Frozen(3 * time.Second), 2500 * time.Millisecond},
		{"SIGTERM", trial.Terminated, takeoverBound},
		{"apiserver", trial.APIKilled, takeoverBound},
		{"kill -9", trial.DaemonKilled, 2500 * time.Millisecond},
	} {
		t.Run(c.name, func(t *testing.T) {
			res := measure(t, g, c.fault)
			assert.Zero(t, res.Two, "two nodes answering")
			assert.Less(t, res.Outage, c.outage+res.Stall)
			settleFor(3 * time.Second)
		})
	}
}

func TestRaftRefusesStrangers(t *testing.T) {
	g := open(t, trial.Config{Product: byRaft(t), Interval: raftInterval})
	holder := settled(t, g)
	p, err := g.Lab.Nodes[0].Start("stranger", "bash", "-c",
		"for i in $(seq 20); do exec 3<>/dev/tcp/"+holder.Address.String()+"/9646 && echo junk >&3; exec 3>&-; done")
	require.NoError(t, err)
	_, err = p.Wait(10 * time.Second)
	require.NoError(t, err)
	settleFor(time.Second)
	assert.Equal(t, []*lab.Node{holder}, g.Holders())
	for _, n := range g.Lab.Nodes {
		rss, err := g.Daemon(n).RSS()
		require.NoError(t, err)
		t.Logf("%s: %.1f MiB", n.Label, float64(rss)/(1<<20))
		assert.LessOrEqual(t, rss, int64(35<<20))
	}
}
