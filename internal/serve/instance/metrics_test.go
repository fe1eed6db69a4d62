package instance

import (
	"net/netip"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/keepvip/keepvip/election"
	"github.com/keepvip/keepvip/internal/base/code"
)

func TestMetricsOfTheFenceAndTheAddresses(t *testing.T) {
	run(t, nil, func(in *Config) {
		in.Lease = 290 * time.Millisecond
		in.VIP.Addresses = append(in.VIP.Addresses, netip.MustParsePrefix("fd77::100/128"))
	}, func(t *testing.T, b *bench) {
		service, e := <-b.services, <-b.electors
		service.set(func(s *fakeService) {
			s.status.Fence = FenceStatus{Standing: true, Repairs: 1, Renewals: 7, RenewalErrors: 2, Lapses: 3}
		})
		for name, want := range map[string][]float64{
			"keepvip_vip_info": {1, 1}, "keepvip_lease_seconds": {0.29}, "keepvip_silenced": {0}, "keepvip_fenced": {1}, "keepvip_fence_repairs_total": {1},
			"keepvip_fence_renewals_total": {7}, "keepvip_fence_renewal_errors_total": {2}, "keepvip_fence_lapses_total": {3},
		} {
			assert.Equal(t, want, values(t, b.Set, name), name)
		}
		require.NoError(t, e.decide(election.Serve, nodeA))
		time.Sleep(time.Minute)
		e.mu.Lock()
		e.lease = -3 * time.Second
		e.mu.Unlock()
		assert.Equal(t, []float64{1}, values(t, b.Set, "keepvip_silenced"))
	})
}

// A takeover counts from its decision, once, and only if it succeeds.
func TestTakeoverIsMeasured(t *testing.T) {
	var took []time.Duration
	run(t, nil, func(in *Config) { in.TookOver = func(d time.Duration) { took = append(took, d) } }, func(t *testing.T, b *bench) {
		service, e := <-b.services, <-b.electors
		tell := func(role election.Role) error {
			return e.tell(election.Decision{Role: role, Holder: nodeA, At: time.Now().Add(-time.Second)})
		}
		service.set(func(s *fakeService) { s.fail = assert.AnError })
		require.Error(t, tell(election.Serve))
		service.set(func(s *fakeService) { s.fail = nil })
		require.NoError(t, tell(election.Standby))
		assert.Empty(t, took)
		require.NoError(t, tell(election.Serve))
		require.NoError(t, tell(election.Serve))
		assert.Equal(t, []time.Duration{time.Second}, took)
	})
}

func TestTransitionsAreCountedByTheirCauses(t *testing.T) {
	var away []time.Duration
	run(t, nil, func(in *Config) { in.Away = func(d time.Duration) { away = append(away, d) } }, func(t *testing.T, b *bench) {
		e := <-b.electors
		for _, d := range []election.Decision{
			{Role: election.Standby, Code: code.Started},
			{Role: election.Serve, Holder: nodeA, Code: code.HolderSilent, Away: 290 * time.Millisecond, At: time.Now()},
			{Role: election.Serve, Holder: nodeA, Code: code.HolderSilent}, // nothing has changed
			{Role: election.Standby, Holder: nodeB, Code: code.Handover},
			{Role: election.Serve, Holder: nodeA, Code: code.HolderSilent, Away: time.Second, At: time.Now()},
			{Role: election.Off},
			{Role: election.Standby, Code: code.Numbered(998)}, // of a later release, as a member may say it
			{Role: election.Off, Code: code.Numbered(999)},
		} {
			require.NoError(t, e.tell(d))
		}
		want := map[string]uint64{"started": 1, "holder-silent": 2, "handover": 1, "unknown": 3}
		assert.Equal(t, want, b.Status()[0].changes)
		assert.Equal(t, []float64{1, 2, 1, 3}, values(t, b.Set, "keepvip_transitions_total"), "handover, holder-silent, started, unknown")
		assert.Equal(t, []time.Duration{290 * time.Millisecond, time.Second}, away)
	})
}
