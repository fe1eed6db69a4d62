//go:build netns

package netnstests

import (
	"net/netip"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/keepvip/keepvip/netns-tests/trial"
)

// manyConnections take a kernel longer than a release waits for their resets.
const manyConnections = 14000

// TestEveryIdleClientIsTold holds connections on which nobody says anything, as most watches of a large cluster: a client learns of the end by
// a reset alone. Each fault lasts for a second or two, and whoever was not told by then is not told at all.
func TestEveryIdleClientIsTold(t *testing.T) {
	for _, vip := range dualStack() {
		g := started(t, trial.Config{Addresses: []netip.Addr{vip}})
		for name, fault := range map[string]trial.Fault{
			"handover":                        trial.Verb("handover"),
			"drain":                           trial.Verb("drain"),
			"SIGTERM":                         trial.Terminated,
			"kill -9, the address still here": trial.KilledAndStarted(time.Second),
			"kill -9, the address gone":       trial.KilledAndStarted(8 * time.Second),
		} {
			t.Run(vip.String()+", "+name, func(t *testing.T) {
				c, err := trial.WithConnections(g, manyConnections, fault)
				if !assert.NoError(t, err) {
					return
				}
				t.Logf("%d of %d told, the last after %v; outage %v, processor %v", c.Ends.Told(), len(c.Ends), c.After, c.Outage, c.CPU)
				assert.Equal(t, manyConnections, c.Ends.Told())
				assert.LessOrEqual(t, c.Two, twoBound+c.TwoRoom, "two nodes answer")
			})
		}
		g.Close()
	}
}
