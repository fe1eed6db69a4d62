//go:build netns

package netnstests

import (
	"net/netip"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/keepvip/keepvip/netns-tests/trial"
)

// manyConnections take a kernel longer than a release waits for their resets.
const manyConnections = 14000

// TestEveryIdleClientIsTold holds connections on which nobody says anything, as most watches of a large cluster: such a client learns of the end
// by a reset alone. Whoever was not told a second or two after the fault is not told at all.
func TestEveryIdleClientIsTold(t *testing.T) {
	for _, vip := range dualStack() {
		t.Run(vip.String(), func(t *testing.T) {
			t.Parallel()
			g := started(t, trial.Config{Addresses: []netip.Addr{vip}, API: true})
			for name, fault := range trial.ConnectionFaults() {
				t.Run(name, func(t *testing.T) {
					c, err := trial.WithConnections(g, manyConnections, fault)
					require.NoError(t, err)
					t.Logf("%d of %d told, the last after %v; outage %v, processor %v", c.Ends.Told(), len(c.Ends), c.After, c.Outage, c.CPU)
					assert.Equal(t, manyConnections, c.Ends.Told())
					assert.Zero(t, c.Finders, "two nodes answer ARP or neighbour discovery")
				})
			}
		})
	}
}
