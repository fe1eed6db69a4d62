//go:build netns

package netnstests

import (
	"net/netip"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/keepvip/keepvip/netns-tests/lab"
	"github.com/keepvip/keepvip/netns-tests/trial"
)

// An ill holder passes the address on in one ordered exchange: what fails is the time until the illness is seen.
func TestKilledAPIServerPassesTheAddressOn(t *testing.T) {
	g := open(t, trial.Config{API: true})
	for range 3 {
		res := measure(t, g, trial.APIKilled)
		t.Logf("failing requests for %v, probes lost %d", res.HTTPS, res.Lost)
		assert.Less(t, res.HTTPS, 250*time.Millisecond+res.Stall)
		assert.Equal(t, 1, res.Takeovers)
		require.NotEqual(t, res.Victim, res.Taker)
		assert.Less(t, res.Two, twoBound+res.Stall)
	}
}

func TestPlannedMoveLosesNothing(t *testing.T) {
	for interval, moves := range map[time.Duration][]trial.Fault{
		100 * time.Millisecond: {trial.Verb("handover"), trial.Verb("drain"), trial.Terminated},
		time.Second:            {trial.Verb("handover")},
	} {
		t.Run(interval.String(), func(t *testing.T) {
			g := open(t, trial.Config{Interval: interval, Addresses: []netip.Addr{lab.VIP4, lab.VIP6}})
			for _, move := range moves {
				res := measure(t, g, move)
				t.Logf("probes lost %d", res.Lost)
				assert.LessOrEqual(t, res.Lost, 3+int(res.Stall/time.Millisecond))
				assert.NotEqual(t, res.Victim, res.Taker)
				assert.Less(t, res.Two, twoBound+res.Stall)
			}
		})
	}
}

func TestHandoverSaysWhyItFails(t *testing.T) {
	g := open(t, trial.Config{})
	holder := settled(t, g)
	command := func(n *lab.Node, args ...string) int {
		_, code, err := trial.Keepvip{}.Command(n, append(args, "--socket", trial.Socket(n))...)
		require.NoError(t, err)
		return code
	}
	backup := g.Lab.Nodes[holder.ID%3]
	assert.Equal(t, 1, command(backup, "handover"), "it holds nothing")
	assert.Equal(t, 3, command(holder, "handover", "--to", "nobody"))
	for _, n := range g.Lab.Nodes {
		if n != holder {
			require.Equal(t, 0, command(n, "drain"))
		}
	}
	settleFor(200 * time.Millisecond)
	assert.Equal(t, 3, command(holder, "drain"), "the others are drained")
	assert.Equal(t, []*lab.Node{holder}, g.Holders())
}
