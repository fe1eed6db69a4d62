//go:build netns

package netnstests

import (
	"fmt"
	"net/netip"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/keepvip/keepvip/netns-tests/lab"
	"github.com/keepvip/keepvip/netns-tests/trial"
)

func openFollower(t *testing.T, cfg trial.FollowerConfig) *trial.Follower {
	t.Helper()
	cfg.Interval = calmInterval
	f := must(trial.OpenFollower(host, cfg))(t)
	t.Cleanup(func() {
		if t.Failed() && f.Process != nil {
			t.Logf("--- keepvip on the worker\n%s", f.Process.Log())
		}
		finish(t, f.Group)
	})
	require.NoError(t, f.Begin(3))
	return f
}

// served is who answered connections of the worker, none of which has failed.
func served(t *testing.T, f *trial.Follower, count int) lab.Sampled {
	t.Helper()
	got := must(f.SampleFrom(count))(t)
	assert.Equal(t, count, got.Served(), "%s", got)
	return got
}

// evenly asserts that the members come to share so many new connections to each target: one that did not run for a moment gets none meanwhile.
func evenly(t *testing.T, f *trial.Follower, count int, members ...*lab.Node) {
	t.Helper()
	var off []string
	for end := time.Now().Add(sharing); time.Now().Before(end); settleFor(time.Second) {
		off = nil
		for _, target := range f.Targets() {
			got := must(f.SampleOf(target, count))(t)
			uneven := func(n *lab.Node) bool {
				more := got.ByNode[n.Label] - count/len(members)
				return max(more, -more) > 1
			}
			if got.Served() != count || slices.ContainsFunc(members, uneven) {
				off = append(off, fmt.Sprintf("%s: %s", target, got))
			}
		}
		if len(off) == 0 {
			return
		}
	}
	assert.Empty(t, off, "%d members have %d connections", len(members), count)
}

// TestFollowerGoesStraightToTheMembers: a worker's connections are divided evenly to one. A member that is drained gets no new ones and keeps what
// it has; a process that ends is noticed; without keepvip connections go on by the wire.
func TestFollowerGoesStraightToTheMembers(t *testing.T) {
	t.Parallel()
	f := openFollower(t, trial.FollowerConfig{Signed: true})
	evenly(t, f, 300, f.Members()...)
	held := must(f.HoldFrom(30))(t)
	drained := f.Members()[1]
	require.Zero(t, command(t, drained, "drain"))
	require.NoError(t, f.Follows(2))
	assert.Zero(t, served(t, f, 60).ByNode[drained.Label])
	metrics := must(f.Metrics())(t)
	for _, n := range f.Members() {
		used := "1"
		if n == drained {
			used = "0"
		}
		assert.Equal(t, used, metrics[fmt.Sprintf("keepvip_follower_member_used{member=%q,port=\"%d/tcp\",vip=\"apiserver\"}", n.Address, f.Target().Port())])
	}

	eventually(t, 5*time.Second, "less than 16 MB, once what only the start needed is given back", func() bool {
		return must(f.Process.RSS())(t) < 16_000_000
	})

	require.NoError(t, f.Process.Kill9())
	require.NoError(t, f.FallenThrough())
	served(t, f, 60)
	assert.Zero(t, held.Stop().Lost(), "connections go on")
	require.NoError(t, f.Begin(2))
	code := must(f.Process.Terminate(10 * time.Second))(t)
	assert.Zero(t, code, f.Process.Log())
	assert.NotContains(t, must(f.Worker.Run("nft", "list", "tables"))(t), "keepvip", "nothing is left")
}

// TestDrainWaitsForTheConnectionsOfFollowers: they come to the member's own address, where nobody can tell them from those of others.
func TestDrainWaitsForTheConnectionsOfFollowers(t *testing.T) {
	t.Parallel()
	f := openFollower(t, trial.FollowerConfig{Signed: true})
	held := must(f.HoldFrom(30))(t)
	drained := f.Members()[1]
	drain := must(trial.Keepvip{}.BeginCommand(drained, "drain", "--wait", "--timeout", "60s", "--socket", trial.Socket(drained)))(t)
	require.NoError(t, f.Follows(2))
	select {
	case <-drain.Done():
		require.Fail(t, "it has not waited", "%s", drain.Log())
	case <-time.After(3 * time.Second):
	}
	assert.Contains(t, printed(t, drained, "spread"), "1 follower with 10 connections of their own here")
	assert.Zero(t, held.Stop().Lost())
	code, err := drain.Wait(20 * time.Second)
	require.NoError(t, err, "the connections have ended")
	assert.Zero(t, code, drain.Log())
}

// TestFollowerOfBothFamilies: what holds on the link and with IPv4 does with IPv6, and where the members are behind a router. Where IPv6 alone carries
// the election, members know each other by link-local addresses, and a follower connects to those at which they serve.
func TestFollowerOfBothFamilies(t *testing.T) {
	each(t, map[string]trial.FollowerConfig{
		"on the link":                 {Signed: true, Both: true},
		"behind a router":             {Signed: true, Both: true, Behind: true},
		"IPv6 alone, on the link":     {V6: true},
		"IPv6 alone, behind a router": {Signed: true, V6: true, Behind: true},
	}, func(t *testing.T, cfg trial.FollowerConfig) {
		f := openFollower(t, cfg)
		members := f.Members()
		evenly(t, f, 300, members...)
		died := must(f.EndServer(members[0]))(t)
		t.Logf("the others have its connections after %v", died.Noticed)
		assert.NotZero(t, died.ByNode[members[0].Label], "it served before")
		require.NoError(t, f.Follows(2))
		evenly(t, f, 60, members[1:]...)
		must(members[1].PowerOff())(t)
		require.NoError(t, f.Follows(1))
		evenly(t, f, 30, members[2])
		require.NoError(t, f.Process.Kill9())
		require.NoError(t, f.FallenThrough())
		evenly(t, f, 30, members[2])
	})
}

// TestFollowerEndsConnectionsToADeadMember: the worker's programs learn at once that the host of their connection is dead.
func TestFollowerEndsConnectionsToADeadMember(t *testing.T) {
	t.Parallel()
	f := openFollower(t, trial.FollowerConfig{})
	held := must(f.HoldFrom(30))(t)
	dead := f.Members()[0]
	at := must(dead.PowerOff())(t)
	require.NoError(t, f.Follows(2))
	served(t, f, 60)
	r := held.Stop()
	endedWith(t, r, dead, at)
}

// TestFollowerReloads: connections go on over a reload, a configuration that is not good changes nothing, and what kill -9 leaves can be taken away.
func TestFollowerReloads(t *testing.T) {
	t.Parallel()
	f := openFollower(t, trial.FollowerConfig{})
	held := must(f.HoldFrom(30))(t)
	path := f.Worker.Path("follow.yaml")
	text := must(os.ReadFile(path))(t)
	reload := func(more string) {
		t.Helper()
		must(f.Worker.WriteFile("follow.yaml", string(text)+more, 0o644))(t)
		require.NoError(t, f.Process.Signal(unix.SIGHUP))
	}
	listener := netip.MustParseAddrPort("127.0.0.1:19443")
	shared := func() bool {
		got, err := f.Lab.Sample(f.Worker.Namespace, listener, 30)
		return err == nil && got.Served() == 30 && len(got.ByNode) == 3
	}
	reload("follow: {listen: 127.0.0.1:19443}\n")
	eventually(t, 5*time.Second, "the listener serves", shared)
	proxied := must(f.Lab.Hold(f.Worker.Namespace, lab.HeldConfig{Target: listener, Count: 10}))(t)
	reload("follow: {listen: 127.0.0.1:19443, members: [10.77.0.12]}\n")
	eventually(t, 5*time.Second, "the second reload", func() bool { return strings.Count(f.Process.Log(), "msg=following") == 3 })
	reload("nonsense: 1\n")
	eventually(t, 5*time.Second, "it is refused", func() bool { return strings.Contains(f.Process.Log(), "the old one stays in force") })
	eventually(t, 5*time.Second, "the listener goes on", shared)
	served(t, f, 60)
	assert.Zero(t, held.Stop().Lost())
	assert.Zero(t, proxied.Stop().Lost(), "those of the listener go on, too")

	require.NoError(t, f.Process.Kill9())
	eventually(t, 5*time.Second, "its end", func() bool { return !f.Process.Alive() })
	require.Zero(t, command(t, f.Worker, "cleanup"))
	assert.NotContains(t, must(f.Worker.Run("nft", "list", "tables"))(t), "keepvip")
}
