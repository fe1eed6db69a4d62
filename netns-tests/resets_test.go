//go:build netns

package netnstests

import (
	"net/netip"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/keepvip/keepvip/netns-tests/lab"
	"github.com/keepvip/keepvip/netns-tests/trial"
)

// manyConnections take a kernel longer than a release waits for their resets.
const manyConnections = 14000

// TestEveryIdleClientIsTold holds connections on which nobody says anything, as most watches of a large cluster: such a client learns of the end
// by a reset alone. Whoever was not told a second or two after the fault is not told at all.
func TestEveryIdleClientIsTold(t *testing.T) {
	faults := trial.ConnectionFaults()
	for vip, names := range map[netip.Addr][]string{ // the bench has all of them with both
		lab.VIP4: {"handover", "the apiserver dies", "SIGSTOP for longer than the address lives"},
		lab.VIP6: {"SIGTERM", "kill -9, the address gone"},
	} {
		t.Run(vip.String(), func(t *testing.T) {
			t.Parallel()
			g := started(t, trial.Config{Addresses: []netip.Addr{vip}, API: true})
			for _, name := range names {
				t.Run(name, func(t *testing.T) {
					require.Contains(t, faults, name)
					c := must(trial.WithConnections(g, manyConnections, 0, faults[name]))(t)
					t.Logf("%d of %d told, the last after %v; outage %v, processor %v", c.Ends.Told(), len(c.Ends), c.After, c.Outage, c.CPU)
					assert.Equal(t, manyConnections, c.Ends.Told())
					for _, n := range g.Lab.Nodes {
						assert.NotContains(t, g.Daemon(n).Log(), "code=KV341", "the node that tells its clients blames the holder for nothing")
					}
					assert.Zero(t, c.Finders, "two nodes answer ARP or neighbour discovery")
				})
			}
		})
	}
}
