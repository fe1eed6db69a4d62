//go:build netns

package netnstests

import (
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/keepvip/keepvip/netns-tests/lab"
	"github.com/keepvip/keepvip/netns-tests/trial"
)

// TestMemberListensForItsOwnPrograms: what a program of a member connects to at follow.listen is served by all members. The program is told of a
// member's death, and of the end of keepvip here. A port that somebody else has keeps no node from serving.
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
	dead, third := s.Lab.Nodes[(i+1)%3], s.Lab.Nodes[(i+2)%3]

	held := must(s.Lab.Hold(other.Namespace, lab.HeldConfig{Target: listener, Count: 60}))(t)
	assert.LessOrEqual(t, weighs(t, s.Group, (*lab.Process).Own), int64(8_000_000))
	require.Zero(t, s.verb(other, "handover"))
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

	taker := must(other.StartGreeter(lab.GreeterConfig{Port: listener.Port(), Everywhere: true}))(t)
	require.NoError(t, s.Start(other))
	require.NoError(t, s.ServedBy(other, third))
	log := s.Daemon(other).Log()
	assert.Equal(t, 1, strings.Count(log, "KV489"), "%s", log)
	assert.Contains(t, log, "address already in use")
	p, code := mustTwo(trial.Keepvip{}.Command(other, "status", "--socket", trial.Socket(other)))(t)
	assert.Zero(t, code)
	assert.Contains(t, p.Stdout(), "NO LISTENER")
	taker.Close()
	eventually(t, 10*time.Second, "it listens where the port is free again", servedBy(other, 2))
	assert.Equal(t, 1, strings.Count(s.Daemon(other).Log(), "KV489"))
}
