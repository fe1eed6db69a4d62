//go:build netns

package netnstests

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/keepvip/keepvip/netns-tests/lab"
	"github.com/keepvip/keepvip/netns-tests/trial"
)

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
	holder := s.Holders()[0]
	leaving := s.Lab.Nodes[slices.IndexFunc(s.Lab.Nodes, func(n *lab.Node) bool { return n != holder })]
	stays(s.t, s.Group, func() *lab.Node {
		assert.Equal(s.t, 4, s.verb(leaving, "drain", "--wait", "--timeout", "4s"), "it has connections")
		return holder
	})
	s.Release()
	assert.Zero(s.t, s.verb(leaving, "drain", "--wait", "--timeout", "20s"), "the last has ended")
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
