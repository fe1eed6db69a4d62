//go:build netns

package netnstests

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/keepvip/keepvip/netns-tests/lab"
	"github.com/keepvip/keepvip/netns-tests/trial"
)

func openSpread(t *testing.T, cfg trial.SpreadConfig) *trial.Spreading {
	t.Helper()
	s, err := trial.OpenSpread(host, cfg)
	require.NoError(t, err)
	t.Cleanup(func() { finish(t, s.Group) })
	return s
}

func TestSpreadSharesConnectionsEvenly(t *testing.T) {
	t.Parallel()
	s := openSpread(t, trial.SpreadConfig{})
	const count = 1000 // by chance a member is 16 % off its share in one of hundreds of runs
	for _, from := range []*struct {
		name string
		far  bool
	}{{"on the link", false}, {"behind the router", true}} {
		client := s.Lab.Client
		if from.far {
			client = s.Lab.OffLink
		}
		for _, target := range s.Targets() {
			var got lab.Sampled
			var err error
			for range 3 { // a member that did not run for a moment gets nothing new meanwhile
				got, err = s.Lab.Sample(client.Namespace, target, count)
				require.NoError(t, err)
				t.Logf("%s, %s: %s, off by %.1f %% at most", from.name, target, got, got.Worst(3))
				if got.Served() == count && got.Worst(3) <= 25 {
					break
				}
			}
			assert.Equal(t, count, got.Served(), "%s, %s: %s", from.name, target, got)
			assert.LessOrEqual(t, got.Worst(3), 25.0, "%s, %s: %s", from.name, target, got)
			assert.Zero(t, got.Disguised, "servers see the client's own address")
		}
	}
}

func TestSpreadKeepsConnectionsOverMoves(t *testing.T) {
	t.Parallel()
	s := openSpread(t, trial.SpreadConfig{})
	for _, e := range trial.SpreadEvents() {
		if e.Name != "a member drains, the holder hands over, both return" && e.Name != "the holder's node dies" {
			continue
		}
		k, err := s.Keep(e, 120)
		require.NoError(t, err, e.Name)
		t.Logf("%s: %s", e.Name, k.Findings(e))
		if k.Lost > 0 && !k.Judged() {
			notJudged(t, "%s: %d of %d connections were lost, the machine stood still for %s ms within a second", e.Name, k.Lost, k.Count, lab.Milliseconds(k.Room))
			continue
		}
		assert.Zero(t, k.Lost, "%s: %s", e.Name, k.How)
		assert.Zero(t, k.Disguised, "servers see the client's own address")
		assert.Zero(t, k.Silent, "clients of the dead are told")
		assert.LessOrEqual(t, k.Stall, 2*time.Second+k.Room, "%s: a connection that lives goes on", e.Name)
	}
}

// TestSpreadKeepsWatches: what an apiserver's clients hold, over HTTP/2, does not begin again because the address moves, and the audit log has
// the clients' own addresses.
func TestSpreadKeepsWatches(t *testing.T) {
	t.Parallel()
	s := openSpread(t, trial.SpreadConfig{})
	for _, e := range trial.SpreadEvents() {
		if e.Name != "a member drains, the holder hands over, both return" {
			continue
		}
		w, err := s.KeepWatches(e, 6, 3)
		if err != nil && !w.Judged() {
			notJudged(t, "%s: the machine stood still for %s ms within a second: %v", e.Name, lab.Milliseconds(w.Room), err)
			continue
		}
		require.NoError(t, err, e.Name)
		t.Logf("%s: %s", e.Name, w.Findings())
		assert.Equal(t, 6*3*2*2, w.Count)
		assert.Zero(t, w.Strangers, "servers see the client's own address")
		if len(w.Restarts) > 0 && !w.Judged() {
			notJudged(t, "%d of %d watches began again, the machine stood still for %s ms within a second", len(w.Restarts), w.Count, lab.Milliseconds(w.Room))
			continue
		}
		assert.Empty(t, w.Restarts)
		assert.Zero(t, w.Again, "connections were opened again")
		assert.Zero(t, w.Missed, "events")
	}
}

// TestSpreadCosts: no more than a way through one more host. The bench has the figures, on a machine that does nothing else.
func TestSpreadCosts(t *testing.T) {
	t.Parallel()
	var over []string
	for range 3 { // other tests want the processors, too
		found, err := trial.SpreadCosts(host)
		require.NoError(t, err)
		t.Log(found)
		if over = found.Over(20); len(over) == 0 {
			break
		}
	}
	assert.Empty(t, over)
}
