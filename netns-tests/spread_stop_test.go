//go:build netns

package netnstests

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/keepvip/keepvip/election"
	"github.com/keepvip/keepvip/netns-tests/lab"
	"github.com/keepvip/keepvip/netns-tests/trial"
)

// spreadStops is a group whose load is spread, and what an operator does to its nodes.
type spreadStops struct {
	t *testing.T
	*trial.Spreading
}

// verb runs a command of keepvip on a node, and returns its exit status.
func (s spreadStops) verb(n *lab.Node, args ...string) int {
	s.t.Helper()
	code, _ := s.said(n, args...)
	return code
}

// said is the exit code of a command, and what it says.
func (s spreadStops) said(n *lab.Node, args ...string) (code int, text string) {
	s.t.Helper()
	p, code := mustTwo(trial.Keepvip{}.Command(n, append(args, "--socket", trial.Socket(n))...))(s.t)
	s.t.Logf("%v on %s: %d: %s", args, n.Label, code, p.Log())
	return code, p.Log()
}

// resumed has a drained node take part again, and waits until it serves.
func (s spreadStops) resumed(n *lab.Node) {
	s.t.Helper()
	require.Zero(s.t, s.verb(n, "resume"))
	require.NoError(s.t, s.Ready())
}

// drained drains a node that has no connection any more, as soon as another one can take the address.
func (s spreadStops) drained(n *lab.Node) {
	s.t.Helper()
	const noTaker = 3
	code := noTaker
	eventually(s.t, trial.SettleLimit, "another node can take the address from "+n.Label, func() bool {
		var text string
		code, text = s.said(n, "drain", "--wait", "--timeout", "30s")
		return code != noTaker && !strings.Contains(text, election.ErrTimeout.Error())
	})
	assert.Zero(s.t, code, "%s has no connection any more", n.Label)
}

// stopped ends keepvip on a node, and returns the nftables tables that are left there.
func (s spreadStops) stopped(n *lab.Node) string {
	s.t.Helper()
	require.Zero(s.t, must(s.Daemon(n).Terminate(10*time.Second))(s.t))
	return s.tables(n)
}

func (s spreadStops) tables(n *lab.Node) string {
	s.t.Helper()
	return string(must(n.Run("nft", "list", "tables"))(s.t))
}

// TestSpreadNodesThatStop: a drain waits for a node's connections wherever the address is, and resets none of them. A node that stops with
// connections leaves what translates them, and one without leaves nothing.
func TestSpreadNodesThatStop(t *testing.T) {
	t.Parallel()
	s := spreadStops{t, openSpread(t, trial.SpreadConfig{V4: true})}
	both, third := s.Lab.Nodes[:2], s.Lab.Nodes[2]
	require.NoError(t, s.Hold(30))
	for _, n := range both { // one of them at least is not the holder
		assert.Equal(t, 4, s.verb(n, "drain", "--wait", "--timeout", "500ms"), "%s has connections", n.Label)
		s.resumed(n)
	}
	left := s.stopped(third)
	assert.Contains(t, left, "table ip keepvip-spread-apiserver", "its connections go on")
	assert.NotContains(t, left, "table arp", "the fence is gone")
	assert.Zero(t, s.verb(third, "cleanup"))
	assert.NotContains(t, s.tables(third), "keepvip")
	for _, r := range s.Release() {
		noneLost(t, r.Of(both...))
	}
	for _, n := range both {
		s.drained(n)
		s.resumed(n)
	}
	for _, n := range both { // the last ACK of a connection by which resumed saw that they serve may still be missing
		s.drained(n)
		require.Zero(t, s.verb(n, "resume"))
		must(s.SettleAny())(t)
	}
	for _, n := range both {
		assert.NotContains(t, s.stopped(n), "keepvip", "%s", n.Label)
	}
}

// TestSpreadDrainWaitsForTheProgramsOfOtherMembers: what these connect to goes straight to the drained node, which cannot tell it from what others ask it.
func TestSpreadDrainWaitsForTheProgramsOfOtherMembers(t *testing.T) {
	t.Parallel()
	// The other one never holds the address: what programs of a holder connect to it has the address at both ends, and ends when it moves.
	s := spreadStops{t, openSpread(t, trial.SpreadConfig{V4: true, Product: trial.WithSpread{Candidates: 2}})}
	drained, other := s.Lab.Nodes[0], s.Lab.Nodes[2]
	var held *lab.Held
	eventually(t, trial.SettleLimit, "programs of the other one are served by the node that is to be drained", func() bool {
		held = must(s.Lab.Hold(other.Namespace, lab.HeldConfig{Target: s.Targets()[0], Count: 30}))(t)
		if held.Alive(drained.Label) > 0 {
			return true
		}
		held.Stop() // it was taken for silent
		return false
	})
	assert.Equal(t, 4, s.verb(drained, "drain", "--wait", "--timeout", "4s"), "it has connections")
	noneLost(t, held.Stop())
	s.drained(drained)
	s.resumed(drained)
}

// TestSpreadByMasquerade: members share connections, those of a member that drains go on, clients of a dead one are told at once, and of a
// holder that gives the address away all are told, and connect again. Nothing is left when keepvip ends.
func TestSpreadByMasquerade(t *testing.T) {
	t.Parallel()
	group := openSpread(t, trial.SpreadConfig{Product: trial.WithSpread{Masquerade: true}})
	s := spreadStops{t, group}
	for _, from := range []*lab.Peer{s.Lab.Client, s.Lab.OffLink} {
		for _, got := range shares(t, s.Spreading, from.Namespace, 600, 3, 30) {
			assert.Positive(t, got.Disguised, "but for those of the holder's own, servers see the holder")
			assert.Less(t, got.Disguised, got.Served(), "those of the holder's own")
		}
	}
	for _, e := range spreadEvents(t, "a member drains and returns", "a member's node dies") {
		keeps(t, s.Spreading, e, 60)
	}
	s.moves()
	s.leaves()
	for _, n := range s.Lab.Nodes {
		assert.NotContains(t, s.stopped(n), "keepvip", "%s", n.Label)
	}
}

// moves hands the address over. What the holder served itself ends, too, as without spread.
func (s spreadStops) moves() {
	s.t.Helper()
	require.NoError(s.t, s.Ready())
	before := s.Holders()[0]
	handover := spreadEvents(s.t, "handover")[0]
	handover.Ends = true
	k := keeps(s.t, s.Spreading, handover, 60)
	assert.Equal(s.t, k.Count, k.Lost)
	assert.NotContains(s.t, k.How, lab.NoAnswer, "all are told")
	goneOnceTold(s.t, before, s.Addresses[0])
}

// leaves drains a node that does not hold the address. Only the holder can tell how many connections it still has.
func (s spreadStops) leaves() {
	s.t.Helper()
	require.NoError(s.t, s.Ready())
	require.NoError(s.t, s.Hold(30))
	var leaving *lab.Node
	stays(s.t, s.Group, func() *lab.Node {
		holder := s.Holders()[0]
		leaving = s.Others(holder)[0]
		assert.Equal(s.t, 4, s.verb(leaving, "drain", "--wait", "--timeout", "4s"), "it has connections")
		return holder
	})
	s.Release()
	s.drained(leaving)
	s.resumed(leaving)
}

// TestSpreadByMasqueradeAndDirectByReload: what the holder translates goes on by way of it when the load is spread directly. The other way round
// only its own connections do; clients of all others are told, and whoever connects again is served.
func TestSpreadByMasqueradeAndDirectByReload(t *testing.T) {
	t.Parallel()
	s := openSpread(t, trial.SpreadConfig{V4: true, Product: trial.WithSpread{Masquerade: true}})
	for _, on := range []bool{false, true} {
		name := map[bool]string{false: "masquerade to direct", true: "direct to masquerade"}[on]
		k := keeps(t, s, trial.SpreadEvent{Name: name, Stall: time.Second, Ends: on, Do: func(*trial.SpreadMove) (*lab.Node, error) {
			return nil, s.Masquerade(on)
		}}, 60)
		assert.NotContains(t, k.How, lab.NoAnswer, "%s: all are told", name)
		for _, got := range shares(t, s, s.Lab.Client.Namespace, 600, 3, 30) {
			assert.Equal(t, on, got.Disguised > 0, name)
		}
	}
	for _, n := range s.Lab.Nodes {
		assert.NotContains(t, spreadStops{t, s}.stopped(n), "keepvip", "%s", n.Label)
	}
}
