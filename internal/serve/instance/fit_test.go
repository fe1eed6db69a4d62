package instance

import (
	"net/netip"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/keepvip/keepvip/election"
	"github.com/keepvip/keepvip/internal/check/health"
)

func TestFitIsWhatBalancersMayKnow(t *testing.T) {
	run(t, nil, func(in *Config) { in.Checks = []Check{{ID: "checked"}} }, func(t *testing.T, b *bench) {
		e, service := <-b.electors, <-b.services
		name := b.Status()[0].Name
		fit := func(want string) {
			t.Helper()
			synctest.Wait()
			why, known := b.Fit(name)
			assert.True(t, known)
			if want == "" {
				require.NoError(t, why)
				return
			}
			require.EqualError(t, why, want)
		}
		_, known := b.Fit(name)
		assert.False(t, known, "no check has a result yet")
		_, known = b.Fit("none")
		assert.False(t, known)

		b.verdicts <- health.Verdict{State: health.Healthy}
		fit("")
		require.NoError(t, e.decide(election.Standby, netip.Addr{}))
		service.blocked(election.Fitness{Out: true, Reason: "another host has the address"})
		fit("")
		require.NoError(t, b.Drain(t.Context(), nil))
		fit("drained by an operator")
		require.NoError(t, b.Resume(nil))
		fit("")
		require.NoError(t, b.Hold(t.Context(), nil, "disk", true))
		fit("held by an operator: disk")
		require.NoError(t, b.Resume(nil))
		b.verdicts <- health.Verdict{State: health.Unhealthy, Reason: "500"}
		fit("the health check fails: 500")
	})
}
