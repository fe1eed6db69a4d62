package route

import (
	"context"
	"math/rand/v2"
	"net/netip"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/keepvip/keepvip/election"
	"github.com/keepvip/keepvip/election/local"
	"github.com/keepvip/keepvip/internal/base/bubble"
	"github.com/keepvip/keepvip/internal/check/health"
	"github.com/keepvip/keepvip/internal/serve/instance"
)

// TestNoisyCheckWithdrawsNoOftenerThanItsGate: half an hour of a check that fails one time in ten, at random, with the usual rise, fall and interval, in
// virtual time and with many seeds: a hundred hours in all. The route goes when the gate falls, and at no other time.
func TestNoisyCheckWithdrawsNoOftenerThanItsGate(t *testing.T) {
	const interval, length = 300 * time.Millisecond, 30 * time.Minute
	total := 0
	for seed := range uint64(200) {
		bubble.Test(t, func(t *testing.T) {
			f := newFake()
			s := begin(f, instance.Readiness{})
			e := local.New(netip.Addr{}, 100, nil, false)
			ctx, cancel := context.WithCancel(t.Context())
			ended := make(chan error)
			go func() { ended <- e.Run(ctx, func(d election.Decision) error { return s.Apply(ctx, d) }) }()
			gate, noise, falls, rises := health.NewGate(2, 3), rand.New(rand.NewPCG(seed, 0)), 0, 0
			for range length / interval {
				result := health.Result{Outcome: health.Pass}
				if noise.IntN(10) == 0 {
					result.Outcome = health.Fail
				}
				if gate.Step(time.Now(), result) {
					state, _ := gate.State()
					if state == health.Healthy {
						rises++
						e.SetFitness(election.Fitness{})
					} else {
						falls++
						e.SetFitness(election.Fitness{Less: 255, Reason: "the health check fails"})
					}
				}
				time.Sleep(interval)
			}
			synctest.Wait()
			gone, put := 0, 0
			for _, did := range f.said() {
				switch did {
				case "no route":
					gone++
				case "route by 7":
					put++
				}
			}
			assert.Equal(t, falls, gone, "seed %d", seed)
			assert.Equal(t, rises, put, "seed %d", seed)
			assert.Positive(t, put)
			total += falls
			cancel()
			require.NoError(t, <-ended)
			require.NoError(t, s.Close())
		})
	}
	t.Logf("%d falls of the gate", total)
}
