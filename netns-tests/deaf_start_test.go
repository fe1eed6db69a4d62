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

// A node becomes deaf in its first moments. It takes the address, since it hears no holder, and clients are served by another one all the same. Nodes in
// virtual time go through what else it may be: the first of all, one without preemption, in plain VRRP.
func TestNodeThatIsDeafFromItsStartComesLast(t *testing.T) {
	t.Parallel() // seconds of waiting for timers
	g := prepare(t, trial.Config{})
	nodes := g.Lab.Nodes
	deaf, rest := nodes[len(nodes)-1], nodes[:len(nodes)-1] // of equals the last one would be the first
	active := func(n *lab.Node) bool {
		s, err := trial.Keepvip{}.Status(n)
		return err == nil && s.VIPs[0].State == "active"
	}
	answers := func() bool { return g.Lab.Reaches(g.Lab.Client.Namespace, lab.VIP4, time.Second) }
	for _, n := range rest {
		require.NoError(t, g.Start(n))
	}
	eventually(t, 10*time.Second, "the address answers", answers)
	require.NoError(t, g.Start(deaf))
	settleFor(100 * time.Millisecond)
	require.NoError(t, deaf.LoseAll(lab.In, ""))
	eventually(t, 10*time.Second, "the deaf node takes the address", func() bool { return active(deaf) })
	eventually(t, 10*time.Second, "another node holds it, too", func() bool { return active(rest[0]) || active(rest[1]) })
	eventually(t, 10*time.Second, "the address answers", answers)
	for range 20 {
		assert.True(t, answers(), "it goes on to answer")
		settleFor(100 * time.Millisecond)
	}
	assert.True(t, active(deaf))
	for _, n := range rest {
		eventually(t, 10*time.Second, "it is named on the others", func() bool { return namesDeaf(n, false) })
	}

	require.NoError(t, deaf.LoseNothing())
	eventually(t, 15*time.Second, "one node holds the address", func() bool {
		bound := 0
		for _, n := range nodes {
			if active(n) {
				bound++
			}
		}
		return bound == 1
	})
	assert.False(t, active(deaf), "the one that was deaf has heard of the holder before it comes first again")
	reached(t, g)
}
