package instance

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/keepvip/keepvip/election"
)

// A member that is silent is shown as that, since when, and what it was; it counts as that, and as nothing else.
func TestStatusShowsWhoIsSilent(t *testing.T) {
	run(t, nil, nil, func(t *testing.T, b *bench) {
		e := <-b.electors
		heard := time.Now().Add(-time.Minute)
		e.mu.Lock()
		e.status.Members = []election.Member{{Address: nodeB, Node: "n2", Fit: new(false), State: election.Silent, Was: "active", LastHeard: heard}}
		e.mu.Unlock()
		members := b.Status()[0].Members
		require.Len(t, members, 1)
		m := members[0]
		assert.Equal(t, []any{election.Silent, "active", "n2", heard}, []any{m.State, m.Was, m.Node, m.LastHeard})
		assert.Equal(t, []float64{0, 0, 0, 1}, values(t, b.Set, "keepvip_members"), "active, backup, initialize, silent")
	})
}

// Each node logs why the address moves, also one that it does not move to.
func TestLogSaysWhyTheAddressMoves(t *testing.T) {
	for name, d := range map[string]election.Decision{
		"to this node":     {Role: election.Serve, Holder: nodeA},
		"to another":       {Role: election.Standby, Holder: nodeB},
		"out of this node": {Role: election.Off},
	} {
		t.Run(name, func(t *testing.T) {
			run(t, nil, nil, func(t *testing.T, b *bench) {
				e := <-b.electors
				d.Reason, d.Cause = "decided", "n1: uid 0 asked for a handover"
				require.NoError(t, e.tell(d))
				assert.Contains(t, b.log.String(), `cause="n1: uid 0 asked for a handover"`)
			})
		})
	}
}
