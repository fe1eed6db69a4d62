package address

import (
	"errors"
	"net/netip"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/keepvip/keepvip/election"
	"github.com/keepvip/keepvip/internal/serve/instance"
)

// A reset that comes when the address is gone does not leave, and a client that only listens does not learn of its end. So a node that is
// silent for sure keeps the address for it. A node that may answer does not, because another one may answer soon.
func TestReleaseWaitsForResetsWhileTheNodeIsSilent(t *testing.T) {
	for name, tt := range map[string]struct {
		kernel      *fakeFence
		takes, want time.Duration
	}{
		"a slow kernel":          {&fakeFence{egress: true}, 100 * time.Millisecond, 100 * time.Millisecond},
		"a kernel that is stuck": {&fakeFence{egress: true}, time.Minute, patience + resetTime},
		"the fence refuses":      {&fakeFence{egress: true, open: errors.New("refused")}, 100 * time.Millisecond, patience},
		"there is no fence":      {nil, 100 * time.Millisecond, patience},
	} {
		t.Run(name, func(t *testing.T) {
			var reset [][]netip.Addr
			change := func(in *entry) {
				if tt.kernel != nil {
					fenced(tt.kernel)(in)
				}
				in.Reset = func(addresses []netip.Addr) error {
					reset = append(reset, addresses)
					time.Sleep(tt.takes)
					return nil
				}
			}
			run(t, nil, change, func(t *testing.T, b *bench) {
				e := <-b.electors
				require.NoError(t, e.decide(election.Serve, nodeA))
				b.host.take()
				began := time.Now()
				done := make(chan error, 1)
				go func() { done <- e.decide(election.Off, netip.Addr{}) }()
				time.Sleep(tt.want - time.Millisecond)
				synctest.Wait()
				assert.Empty(t, b.host.take())
				require.NoError(t, <-done)
				assert.Equal(t, tt.want, time.Since(began))
				assert.Equal(t, []string{"del 10.77.0.100/32 2", "del fd77::100/128 2"}, b.host.take())
				require.Len(t, reset, 1)
				assert.Len(t, reset[0], 2)
				time.Sleep(tt.takes)
			})
		})
	}
}

// Until nothing comes in any more, clients connect: those that did so during the first reset are told as well.
func TestReleaseResetsAgainWhatCameInDuringTheReset(t *testing.T) {
	kernel := &fakeFence{egress: true, delayIn: 50 * time.Millisecond}
	var resets []time.Duration
	var began time.Time
	change := func(in *entry) {
		fenced(kernel)(in)
		in.Reset = func([]netip.Addr) error {
			resets = append(resets, time.Since(began))
			time.Sleep(40 * time.Millisecond)
			return nil
		}
	}
	run(t, nil, change, func(t *testing.T, b *bench) {
		e := <-b.electors
		require.NoError(t, e.decide(election.Serve, nodeA))
		began = time.Now()
		require.NoError(t, e.decide(election.Off, netip.Addr{}))
		assert.Equal(t, []time.Duration{patience, patience + 40*time.Millisecond}, resets)
		assert.Equal(t, patience+80*time.Millisecond, time.Since(began))
	})
}

// A fence is looked at every half second, and on standby its guard is renewed then, which opens what is shut. A release that takes longer
// than until that moment is no standby yet.
func TestReleaseStaysShutWhenTheFenceIsLookedAt(t *testing.T) {
	kernel := &fakeFence{egress: true, standby: 20 * time.Second}
	change := func(in *entry) {
		fenced(kernel)(in)
		in.Reset = func([]netip.Addr) error {
			time.Sleep(100 * time.Millisecond)
			return nil
		}
	}
	run(t, nil, change, func(t *testing.T, b *bench) {
		e := <-b.electors
		require.NoError(t, e.decide(election.Serve, nodeA))
		now := time.Now()
		time.Sleep(instance.NextMultiple(now, checkEvery).Sub(now) - 50*time.Millisecond)
		kernel.take()
		require.NoError(t, e.decide(election.Standby, nodeB))
		synctest.Wait()
		assert.Equal(t, []string{"shut in", "shut out", "standby"}, kernel.take())
	})
}
