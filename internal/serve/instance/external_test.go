package instance

import (
	"net/netip"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/keepvip/keepvip/election"
	"github.com/keepvip/keepvip/internal/base/code"
	"github.com/keepvip/keepvip/internal/check/health"
	"github.com/keepvip/keepvip/internal/config"
)

func TestExternalInstanceTakesPartInNothing(t *testing.T) {
	run(t, nil, func(in *Config) {
		in.Checks = []Check{{ID: "checked"}}
		external(in, "lb:6443", nil)
	}, func(t *testing.T, b *bench) {
		b.verdicts <- health.Verdict{State: health.Healthy}
		synctest.Wait()
		s := b.Status()[0]
		assert.Equal(t, []any{config.ModeExternal, ObservedExternal, "initialize", "lb:6443", true, code.External}, []any{s.Mode, s.Observed, s.State, s.Endpoint, s.Eligible, s.Code})
		assert.Equal(t, "mode external: clients connect to lb:6443, and no node holds the addresses", s.Reason)
		assert.Nil(t, s.Why)
		assert.Empty(t, s.Fence.Code)
		require.NoError(t, b.Ready())
		require.NoError(t, b.Live())
		assert.Equal(t, []float64{1}, values(t, b.Set, "keepvip_external"))
		assert.Empty(t, values(t, b.Set, "keepvip_state"), "no alert is about a holder that there is not")
		assert.Empty(t, values(t, b.Set, "keepvip_fenced"))

		require.NoError(t, b.Drain(t.Context(), nil))
		s = b.Status()[0]
		assert.Equal(t, []any{ObservedExternal, Drained, false}, []any{s.Observed, s.Desired, s.Eligible})
		assert.Equal(t, code.Drained, s.Why.Code)
		require.NoError(t, b.Resume(nil))
		require.ErrorIs(t, b.Handover(t.Context(), nil, ""), election.ErrNotActive)
		require.NoError(t, b.Hold(t.Context(), nil, "", true))
		require.NoError(t, b.Resume(nil))

		next := b.instance(nil)
		external(&next, "elsewhere:6443", nil)
		b.Apply(Delta{Adjust: []Config{next}})
		assert.Contains(t, b.Status()[0].Reason, "clients connect to elsewhere:6443")
	})
}

// A node whose addresses have become somebody else's goes on as one that comes last, and is as fit for a balancer as it was.
func TestLeavingInstanceComesLast(t *testing.T) {
	run(t, nil, nil, func(t *testing.T, b *bench) {
		e, service := <-b.electors, <-b.services
		require.NoError(t, e.decide(election.Serve, nodeA))
		until := time.Now().Add(time.Minute)
		next := b.instance(nil)
		next.Leaving = &Leaving{Endpoint: "lb:6443", Until: until}
		b.Apply(Delta{Adjust: []Config{next}})
		assert.Equal(t, election.Fitness{Less: lastPlace, Reason: "the mode is external: clients connect to lb:6443, and this node gives the addresses up", Code: code.External}, e.fitness())
		fresh := next.fresh(t.Context())
		assert.Equal(t, lastPlace, fresh.Less, "a look at the service does not say otherwise")
		s := b.Status()[0]
		assert.Equal(t, []any{config.ModeExternal, ObservedDraining, "active", "lb:6443"}, []any{s.Mode, s.Observed, s.State, s.Endpoint})
		assert.Equal(t, code.External, s.Why.Code)
		why, known := b.Fit(s.Name)
		assert.True(t, known)
		require.NoError(t, why)
		assert.Equal(t, until, service.until, "connections are drained when another node takes the address")
		assert.True(t, b.Holds(s.Name))
		longer := next
		longer.Leaving = &Leaving{Endpoint: "lb:6443", Until: until.Add(time.Minute)}
		b.Apply(Delta{Adjust: []Config{longer}})
		assert.Equal(t, until.Add(time.Minute), service.until, "it has another time to do so")

		b.Apply(Delta{Adjust: []Config{b.instance(nil)}})
		assert.Equal(t, election.Fitness{}, e.fitness())
		assert.True(t, service.until.IsZero())
		assert.Equal(t, ObservedActive, b.Status()[0].Observed)
	})
}

func TestEndpointIsTheFormerOneUntilSomebodyHoldsTheAddress(t *testing.T) {
	run(t, nil, func(in *Config) { in.VIP.Check.URL, in.Interim = "https://127.0.0.1:6443/readyz", "lb:6443" }, func(t *testing.T, b *bench) {
		e := <-b.electors
		assert.Equal(t, "lb:6443", b.Status()[0].Endpoint)
		require.NoError(t, e.decide(election.Standby, netip.Addr{}))
		assert.Equal(t, "lb:6443", b.Status()[0].Endpoint)
		require.NoError(t, e.decide(election.Standby, nodeB))
		assert.Equal(t, "10.77.0.100:6443", b.Status()[0].Endpoint)
		require.NoError(t, e.decide(election.Standby, netip.Addr{}))
		assert.Equal(t, "10.77.0.100:6443", b.Status()[0].Endpoint, "and not again")
	})
}
