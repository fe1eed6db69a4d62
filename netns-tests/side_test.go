//go:build netns

package netnstests

import (
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

// nobody is a user without a privilege.
const nobody = 65534

// What cannot be written down is refused before an address moves.
func TestHoldOnAFullDiskMovesNothing(t *testing.T) {
	t.Parallel()
	g, holder := openHeld(t, trial.Config{})
	dir := holder.Path("state")
	require.NoError(t, os.MkdirAll(dir, 0o750))
	require.NoError(t, unix.Mount("none", dir, "tmpfs", 0, "size=256k"))
	t.Cleanup(func() { _ = unix.Unmount(dir, unix.MNT_DETACH) })
	fill := dir + "/fill"
	require.Error(t, os.WriteFile(fill, make([]byte, 1<<20), 0o600))

	m := must(g.Lab.Measure(lab.MeasureConfig{}))(t)
	p, exit := mustTwo(trial.Keepvip{}.Command(holder, "hold", "--socket", trial.Socket(holder)))(t)
	assert.NotZero(t, exit)
	assert.Contains(t, p.Stderr(), "no space left on device")
	assert.Contains(t, p.Stderr(), "--state-dir")
	if m.Stop().BySilence(0) == 0 {
		assert.True(t, slices.Equal(g.Holders(), []*lab.Node{holder}), "the address has not moved")
	}
	require.NoError(t, os.Remove(fill))
	assert.Zero(t, command(t, holder, "hold"))
	require.Error(t, os.WriteFile(fill, make([]byte, 1<<20), 0o600))
	p, exit = mustTwo(trial.Keepvip{}.Command(holder, "resume", "--socket", trial.Socket(holder)))(t)
	assert.Zero(t, exit, "the last hold ends on a full disk, too: %s", p.Stderr())
}

// Raft needs its port. A node that lacks it says so, and takes part within seconds after whoever had it lets go.
func TestRaftNodeJoinsWhenItsPortIsFreeAgain(t *testing.T) {
	t.Parallel()
	g, holder := openHeld(t, trial.RaftConfig(trial.Raft{}))
	n := g.Lab.Nodes[holder.ID%len(g.Lab.Nodes)]
	require.NoError(t, g.Daemon(n).Kill9())
	must(g.Daemon(n).Wait(2 * time.Second))(t)
	taker := must(n.StartCallers(lab.CallersConfig{User: nobody, Take: []string{"0.0.0.0:9646"}}))(t)
	require.NoError(t, g.Start(n))
	eventually(t, 10*time.Second, "it says why it takes no part", tells(n, "KV383"))
	taker.Stop()
	require.NoError(t, g.Voters(20*time.Second, g.Lab.Nodes...))
	assert.Equal(t, 1, strings.Count(g.Daemon(n).Log(), "code=KV383"), "%s", g.Daemon(n).Log())
}

// A holder that has no descriptor left cannot ask its service, which says nothing about the service: the address stays.
func TestHolderWithoutDescriptorsKeepsTheAddress(t *testing.T) {
	t.Parallel()
	g := open(t, trial.Config{API: true})
	stays(t, g, func() *lab.Node {
		holder := settled(t, g)
		pid := g.Daemon(holder).PID()
		var was unix.Rlimit
		require.NoError(t, unix.Prlimit(pid, unix.RLIMIT_NOFILE, nil, &was))
		require.NoError(t, unix.Prlimit(pid, unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: 0, Max: was.Max}, nil))
		eventually(t, 10*time.Second, "it says so", func() bool { return strings.Contains(g.Daemon(holder).Log(), "code=KV390") })
		settleFor(3 * time.Second) // ten probes, of which three that fail would move the address
		require.NoError(t, unix.Prlimit(pid, unix.RLIMIT_NOFILE, &was, nil))
		eventually(t, 10*time.Second, "it asks again", func() bool { return strings.Contains(g.Daemon(holder).Log(), "this host has again") })
		return holder
	})
}

// TestMemberListensForItsOwnPrograms: what a program of a member connects to at follow.listen is served by all members. The program is told of a
// member's death, and of the end of keepvip here.
func TestMemberListensForItsOwnPrograms(t *testing.T) {
	t.Parallel()
	listener := netip.MustParseAddrPort("127.0.0.1:19443")
	product := trial.WithSpread{Keepvip: trial.Keepvip{Args: []string{"--follow-listen", listener.String(), "--follow-on-members=true"}}}
	s := spreadStops{t, openSpread(t, trial.SpreadConfig{V4: true, Product: product})}
	sample := func(n *lab.Node) lab.Sampled {
		return must(s.Lab.Sample(n.Namespace, listener, 90))(t)
	}
	servedBy := func(n *lab.Node, members int) func() bool {
		return func() bool { got := sample(n); return got.Served() == 90 && len(got.ByNode) == members }
	}
	for _, n := range s.Lab.Nodes {
		eventually(t, 10*time.Second, "all members serve the programs of "+n.Label, servedBy(n, 3))
	}
	other := must(s.SettleAny())(t)
	i := slices.Index(s.Lab.Nodes, other)
	dead := s.Lab.Nodes[(i+1)%3]

	held := must(s.Lab.Hold(other.Namespace, lab.HeldConfig{Target: listener, Count: 60}))(t)
	assert.LessOrEqual(t, weighs(t, s.Group, (*lab.Process).Own), int64(8_000_000))
	passesOn(t, other)
	eventually(t, 10*time.Second, "it serves the programs of a member that was the holder", servedBy(other, 3))
	at := must(dead.PowerOff())(t)
	eventually(t, 10*time.Second, "the others serve", servedBy(other, 2))
	r := held.Stop()
	endedWith(t, r, dead, at)

	held = must(s.Lab.Hold(other.Namespace, lab.HeldConfig{Target: listener, Count: 30}))(t)
	s.stopped(other)
	r = held.Stop()
	assert.Equal(t, 30, r.Lost())
	for _, c := range r.Conns {
		assert.NotEqual(t, lab.NoAnswer, c.How, "the program is told at once")
	}
	assert.Zero(t, sample(other).Served(), "nobody listens any more")
}
