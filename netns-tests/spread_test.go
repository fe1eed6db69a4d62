//go:build netns

package netnstests

import (
	"slices"
	"testing"

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
