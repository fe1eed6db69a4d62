//go:build netns

package netnstests

import (
	"os"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/keepvip/keepvip/netns-tests/lab"
	"github.com/keepvip/keepvip/netns-tests/trial"
)

// spreadEvents are those of the names, in the order of all.
func spreadEvents(t *testing.T, names ...string) []trial.SpreadEvent {
	t.Helper()
	events := slices.DeleteFunc(trial.SpreadEvents(), func(e trial.SpreadEvent) bool { return !slices.Contains(names, e.Name) })
	require.Len(t, events, len(names), "%v", names)
	return events
}

func TestSpreadSharesConnectionsEvenly(t *testing.T) {
	t.Parallel()
	s := openSpread(t, trial.SpreadConfig{})
	const count = 1000 // by chance a member is 16 % off its share in one of hundreds of runs
	for _, from := range []*lab.Peer{s.Lab.Client, s.Lab.OffLink} {
		for _, got := range shares(t, s, from.Namespace, count, 3, 25) {
			assert.Zero(t, got.Disguised, "servers see the client's own address")
		}
	}
}

// TestSpreadByIPv6Alone: members know each other by link-local addresses, and serve at others. What a member itself is a client of goes there, too: its
// servers need not listen on link-local addresses, and connections of its own to a member that dies are ended. A list has either address.
func TestSpreadByIPv6Alone(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		product trial.WithSpread
		event   string
	}{
		"direct":        {event: "a member's node dies, and the other members are clients"},
		"listed":        {product: trial.WithSpread{Members: []string{"fd77::13", "fd77::11", "fd77::12"}}, event: "a member drains and returns"},
		"by masquerade": {product: trial.WithSpread{Masquerade: true}, event: "a member's node dies"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := openSpread(t, trial.SpreadConfig{V6: true, Product: c.product})
			for _, from := range []*lab.Peer{s.Lab.Client, s.Lab.OffLink} {
				for _, got := range shares(t, s, from.Namespace, 600, 3, 30) {
					assert.True(t, c.product.Masquerade || got.Disguised == 0, "servers see the client's own address")
				}
			}
			for _, n := range s.Lab.Nodes {
				shares(t, s, n.Namespace, 600, 3, 30)
			}
			keeps(t, s, spreadEvents(t, c.event)[0], 60)
		})
	}
}

func TestSpreadKeepsConnectionsOverMoves(t *testing.T) {
	t.Parallel()
	s := openSpread(t, trial.SpreadConfig{})
	for _, e := range spreadEvents(t, "a member drains, the holder hands over, both return", "the holder's node dies", "the holder's node dies, right after clients have connected") {
		k := keeps(t, s, e, 120)
		assert.Zero(t, k.Disguised, "servers see the client's own address")
	}
}

// TestSpreadTellsClientsThatSayNothing: they would learn of the death of their server when they say something, which may be minutes later. Of what a
// member itself is a client of, no other node knows.
func TestSpreadTellsClientsThatSayNothing(t *testing.T) {
	t.Parallel()
	s := openSpread(t, trial.SpreadConfig{})
	for _, e := range spreadEvents(t, "the holder's node dies, and clients say nothing", "a member's node dies, and clients say nothing",
		"the holder's node dies, and the other members are clients") { // of a member that dies: TestSpreadByIPv6Alone
		keeps(t, s, e, 120)
	}
}

// TestManyConnectionsThatAreSpread: what the kernel tracks is counted at a bounded cost, none of it is lost by a handover, and a table that is almost full
// is named. By masquerade the clients of thousands of connections are told that only listen.
func TestManyConnectionsThatAreSpread(t *testing.T) {
	t.Parallel()
	shows := trial.SpreadShows()
	for _, name := range []string{"spread: tracked connections", "spread: idle connections", "spread, masquerade: idle connections"} {
		i := slices.IndexFunc(shows, func(s trial.Show) bool { return s.Name == name })
		require.GreaterOrEqual(t, i, 0, name)
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			show(t, shows[i])
		})
	}
}

// TestSpreadTurnedOnAndOffKeepsConnections: those of the holder from before, which no connection tracking has seen, those that were spread, and
// those of the holder from after.
func TestSpreadTurnedOnAndOffKeepsConnections(t *testing.T) {
	t.Parallel()
	keepsAll(t, trial.WithSpread{Off: true}, trial.TurnedOnAndOff(120, false), 200)
}

// TestSpreadTurnedOnAndOffInReverseKeepsConnections: the holder is the first node to begin, and the last to end.
func TestSpreadTurnedOnAndOffInReverseKeepsConnections(t *testing.T) {
	t.Parallel()
	keepsAll(t, trial.WithSpread{Off: true}, trial.TurnedOnAndOff(120, true), 200)
}

// TestSpreadPortAddedKeepsConnections: those of the holder from before the port was spread.
func TestSpreadPortAddedKeepsConnections(t *testing.T) {
	t.Parallel()
	keepsAll(t, trial.WithSpread{Off: true, Other: true}, trial.PortAdded(120), 160)
}

// keepsAll has an event happen to 40 connections, and to those that it makes itself.
func keepsAll(t *testing.T, product trial.WithSpread, e trial.SpreadEvent, count int) {
	t.Helper()
	s := openSpread(t, trial.SpreadConfig{Product: product, Both: true})
	assert.Equal(t, count, keeps(t, s, e, 40).Count)
}

// TestSpreadHolderServesWhileNobodyIsFit by itself, as without spreading.
func TestSpreadHolderServesWhileNobodyIsFit(t *testing.T) {
	t.Parallel()
	s := openSpread(t, trial.SpreadConfig{V4: true, Product: trial.WithSpread{Checked: true}})
	for _, n := range s.Lab.Nodes {
		must(n.WriteFile("unhealthy", "", 0o644))(t)
	}
	require.NoError(t, s.ServedByHolder())
	for _, n := range s.Lab.Nodes {
		require.NoError(t, os.Remove(trial.Unhealthy(n)))
	}
	require.NoError(t, s.Ready())
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

// TestTierOfBalancersKeepsConnections: two machines hold the address and serve nothing, three serve and never hold it, with one file. No
// connection is lost by what happens to the former.
func TestTierOfBalancersKeepsConnections(t *testing.T) {
	t.Parallel()
	s := openSpread(t, trial.TierOf(1))
	members := s.Lab.Nodes[2:]
	for _, e := range trial.TierEvents()[:3] { // the others are the bench's
		k := keeps(t, s, e, 120)
		assert.Zero(t, k.Disguised, "servers see the client's own address")
	}
	for _, n := range members {
		eventually(t, trial.SettleLimit, n.Label+" is a member", shows(n, func(v trial.VIPStatus) bool { return v.Observed == "member" }))
	}
	for _, n := range s.Lab.Nodes[:2] {
		must(n.PowerOff())(t)
	}
	none := func() bool { return len(s.Holders()) == 0 }
	require.True(t, eventually(t, trial.SettleLimit, "no balancer is left", none))
	assert.Never(t, func() bool { return !none() }, time.Second, 20*time.Millisecond, "no member takes the address")
}

// TestSpreadOverBackends: two load balancers share one address before two servers that run no keepvip. One whose service ends gets no
// connections more; one that dies is known, and its clients are told.
func TestSpreadOverBackends(t *testing.T) {
	t.Parallel()
	s := openSpread(t, trial.Backends())
	for _, got := range shares(t, s, s.Lab.OffLink.Namespace, 400, 2, 30) {
		assert.Equal(t, got.Served(), got.Disguised, "servers see the load balancer")
	}
	for _, e := range trial.BackendEvents() {
		k := keeps(t, s, e, 40)
		assert.Positive(t, k.Dead, e.Name)
	}
}

// TestSpreadOverBackendsWithoutTheHolder: what a load balancer translates ends with it, be it killed or dead. The other one has no connection to
// the backends for what comes then, and says so at once; connections that begin are served.
func TestSpreadOverBackendsWithoutTheHolder(t *testing.T) {
	t.Parallel()
	cfg := trial.Backends()
	cfg.V4 = true
	s := openSpread(t, cfg)
	for _, e := range spreadEvents(t, "the holder's keepvip: kill -9 and start", "the holder's node dies") {
		e.Ends = true
		k := keeps(t, s, e, 60)
		assert.Equal(t, k.Count, k.Lost, e.Name)
		assert.NotContains(t, k.How, lab.NoAnswer, "%s: all are told", e.Name)
		shares(t, s, s.Lab.Client.Namespace, 400, 2, 30)
	}
}
