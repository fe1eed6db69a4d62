package virtualrouter

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/keepvip/keepvip/election"
	"github.com/keepvip/keepvip/internal/base/bubble"
	"github.com/keepvip/keepvip/vrrp"
)

// The router that waits the shortest, but for an address owner, begins after the lease, by whatever step the kernel of the Active counts.
func TestLeaseIsOverBeforeAnotherRouterMayBegin(t *testing.T) {
	const shortest = 254 // the highest priority, which has the least Skew_Time
	for _, adverts := range []int{0, 2, 3, 10} {
		for _, interval := range []time.Duration{10 * time.Millisecond, 100 * time.Millisecond, time.Second, 40950 * time.Millisecond} {
			down := time.Duration(adverts)*interval + interval*(256-shortest)/256
			if adverts == 0 {
				down += 3 * interval
			}
			lease := Lease(vrrp.Config{Interval: interval, DownTimerAdverts: adverts})
			assert.Less(t, lease+jiffy, down, "%d advertisements, each %v", adverts, interval)
			assert.Greater(t, lease+2*jiffy, down-interval*(256-shortest)/256, "and not much sooner")
		}
	}
}

// A node that is not the Active any more has no lease that could let it answer.
func TestVRRPLeaseEndsWithTheTerm(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		l := newLAN()
		first := l.start(t, nodeA, nil)
		require.Equal(t, first, holder(t, 2*time.Second, first))
		assert.True(t, time.Now().Before(first.LeaseEnd()))
		better := l.start(t, nodeB, func(c *vrrp.Config) { c.Priority = 200 })
		for range 2000 {
			if first.played() == election.Standby {
				break
			}
			time.Sleep(time.Millisecond)
		}
		assert.True(t, first.LeaseEnd().IsZero())
		stopAll(t, first, better)
	})
}
