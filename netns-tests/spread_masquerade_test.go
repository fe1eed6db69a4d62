//go:build netns

package netnstests

import (
	"errors"
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
	for _, client := range []*lab.Namespace{s.Lab.Client.Namespace, s.Lab.OffLink.Namespace} {
		for _, target := range s.Targets() {
			const count = 600
			var got lab.Sampled
			for range 3 { // a member that did not run for a moment gets nothing new meanwhile
				var err error
				got, err = s.Lab.Sample(client, target, count)
				require.NoError(t, err)
				t.Logf("%s to %s: %s, off by %.1f %% at most, %d masqueraded", client.Name, target, got, got.Worst(3), got.Disguised)
				if got.Served() == count && got.Worst(3) <= 30 {
					break
				}
			}
			assert.Equal(t, count, got.Served(), "%s to %s: %s", client.Name, target, got)
			assert.LessOrEqual(t, got.Worst(3), 30.0, "%s to %s: %s", client.Name, target, got)
			holder := s.Holders()[0].Label
			assert.Equal(t, got.Served()-got.ByNode[holder], got.Disguised, "but for those of the holder's own, servers see the holder")
		}
	}
	for _, e := range trial.SpreadEvents() {
		if e.Name == "a member drains and returns" || e.Name == "a member's node dies" {
			e.Stall = time.Second
			k, err := s.Keep(e, 60)
			require.NoError(t, err, e.Name)
			t.Logf("%s: %s", e.Name, k.Findings(e))
			if k.Lost > 0 && !k.Judged() {
				notJudged(t, "%s: %d of %d connections were lost, the machine stood still for %s ms within a second", e.Name, k.Lost, k.Count, lab.Milliseconds(k.Room))
				continue
			}
			assert.Zero(t, k.Lost, "%s: %s", e.Name, k.How)
			assert.Zero(t, k.Silent, "clients of the dead are told")
			assert.LessOrEqual(t, k.Told, 5*time.Second+k.Room, "%s: soon", e.Name)
		}
	}
	s.moves()
	for _, n := range s.Lab.Nodes {
		assert.NotContains(t, s.stopped(n), "keepvip", "%s", n.Label)
	}
}

// moves hands the address over. What the holder served itself ends, too, as without spread.
func (s spreadStops) moves() {
	s.t.Helper()
	require.NoError(s.t, s.Ready())
	before := s.Holders()[0]
	k, err := s.Keep(trial.SpreadEvent{Name: "handover", Stall: time.Second, Do: func(*trial.SpreadMove) (*lab.Node, error) {
		if code := s.verb(before, "handover"); code != 0 {
			return nil, errors.New("the handover failed")
		}
		time.Sleep(time.Second)
		if code := s.verb(before, "resume"); code != 0 {
			return nil, errors.New("the end of the handover failed")
		}
		return nil, s.Ready()
	}}, 60)
	require.NoError(s.t, err)
	s.t.Logf("handover: %d of %d lost: %s", k.Lost, k.Count, k.How)
	assert.Equal(s.t, k.Count, k.Lost)
	assert.NotContains(s.t, k.How, lab.NoAnswer, "all are told")
	assert.False(s.t, slices.Contains(s.Holders(), before))
}
