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

// spreadEvents are those of the names, in the order of all.
func spreadEvents(t *testing.T, names ...string) []trial.SpreadEvent {
	t.Helper()
	events := trial.SpreadEventsOf(names...)
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
	type row struct {
		product trial.WithSpread
		event   string
	}
	each(t, map[string]row{
		"direct":        {event: "a member's node dies, and the other members are clients"},
		"listed":        {product: trial.WithSpread{Members: []string{"fd77::13", "fd77::11", "fd77::12"}}, event: "a member drains and returns"},
		"by masquerade": {product: trial.WithSpread{Masquerade: true}, event: "a member's node dies"},
	}, func(t *testing.T, c row) {
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

func openSpread(t *testing.T, cfg trial.SpreadConfig) *trial.Spreading {
	t.Helper()
	if cfg.Interval == 0 {
		cfg.Interval = calmInterval
	}
	s := must(trial.OpenSpread(host, cfg))(t)
	t.Cleanup(func() {
		if t.Failed() {
			t.Log(s.Tables())
		}
		finish(t, s.Group)
	})
	return s
}

// eachWay runs a test for a load that is spread directly, and by masquerade.
func eachWay(t *testing.T, test func(t *testing.T, masquerade bool)) {
	t.Helper()
	each(t, map[string]bool{"direct": false, "masquerade": true}, test)
}

// keeps has something happen to connections, and asserts that none of those that can be kept is lost, and that clients of a dead server are
// told.
func keeps(t *testing.T, s *trial.Spreading, e trial.SpreadEvent, count int) trial.Kept {
	t.Helper()
	k, err := s.Keep(e, count)
	require.NoError(t, err, e.Name)
	t.Logf("%s: %s", e.Name, k.Findings(e))
	ends := e.Ends || (e.Own || k.Disguised > 0) && k.Silences > 0 // what a holder translates ends where it ceases to advertise
	if !ends {
		assert.Zero(t, k.Lost, "%s: %s", e.Name, k.How)
	}
	assert.Zero(t, k.Silent, "%s: clients of the dead are told", e.Name)
	return k
}

// noneLost asserts that all connections were answered to the end.
func noneLost(t *testing.T, r lab.HeldReport) {
	t.Helper()
	assert.Zero(t, r.Lost(), "connections of %s: %s", r.Client, r.Failures())
}

// sharing is for how long is looked whether connections are shared: a member that did not run for a moment gets none meanwhile.
const sharing = 20 * time.Second

// shares asserts that new connections of a client come to be served by so many members, each of which has its share, in per cent of which it may
// be off.
func shares(t *testing.T, s *trial.Spreading, from *lab.Namespace, count, members int, limit float64) (all []trial.Shared) {
	t.Helper()
	for _, target := range s.Targets() {
		var got trial.Shared
		var over []string
		for end := time.Now().Add(sharing); time.Now().Before(end); settleFor(time.Second) {
			got = must(s.Share(from, target, count))(t)
			found := got.Findings(members, limit)
			t.Logf("%s: %s", from.Name, found)
			if over = found.Over(1); len(over) == 0 {
				break
			}
		}
		assert.Empty(t, over, from.Name)
		all = append(all, got)
	}
	return all
}

// endedWith asserts that connections to a node that died at that time were ended soon, and no others.
func endedWith(t *testing.T, r lab.HeldReport, dead *lab.Node, at time.Duration) {
	t.Helper()
	died := r.Of(dead)
	require.NotEmpty(t, died.Conns)
	assert.Zero(t, r.Without(dead).Lost(), "%s", r.Without(dead).Failures())
	for _, c := range died.Conns {
		require.NotZero(t, c.Lost)
		assert.NotEqual(t, lab.NoAnswer, c.How, "a connection to the dead node was ended")
	}
	t.Logf("%d connections to the dead node ended %v after its death: %s", len(died.Conns), died.Conns[0].Lost-at, died.Conns[0].How)
}

// TestSpreadTurnedOnAndOffKeepsConnections: those of the holder from before, which no connection tracking has seen, those that were spread, and
// those of the holder from after. In reverse the holder is the first node to begin, and the last to end. A port that is added keeps those of the holder
// from before. Each happens to 40 connections, and to those that it makes itself.
func TestSpreadTurnedOnAndOffKeepsConnections(t *testing.T) {
	type row struct {
		event trial.SpreadEvent
		other bool // another port is spread all the time
		count int
	}
	each(t, map[string]row{
		"in order":        {trial.TurnedOnAndOff(120, false), false, 200},
		"in reverse":      {trial.TurnedOnAndOff(120, true), false, 200},
		"a port is added": {trial.PortAdded(120), true, 160},
	}, func(t *testing.T, c row) {
		s := openSpread(t, trial.SpreadConfig{Product: trial.WithSpread{Off: true, Other: c.other}, Both: true})
		assert.Equal(t, c.count, keeps(t, s, c.event, 40).Count)
	})
}
