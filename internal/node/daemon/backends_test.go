package daemon

import (
	"context"
	"net/netip"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/keepvip/keepvip/internal/base/bubble"
	"github.com/keepvip/keepvip/internal/check/health"
	"github.com/keepvip/keepvip/internal/serve/instance"
)

func TestAnyBackendIsGoodWhileOneIs(t *testing.T) {
	good := []bool{false, true, false}
	looks := make([]int, 3)
	p := &anyBackend{}
	for i := range good {
		p.probers = append(p.probers, health.Func(func(ctx context.Context) health.Result {
			looks[i]++
			switch {
			case good[i]:
				return health.Result{Reason: "200"}
			case i == 2: // gone
				<-ctx.Done()
				return health.Result{Outcome: health.Fail, Reason: "timeout"}
			}
			return health.Result{Outcome: health.Down, Reason: "refused"}
		}))
	}
	look := func() health.Result {
		ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
		defer cancel()
		return p.Probe(ctx)
	}
	assert.Equal(t, health.Result{Reason: "200"}, look())
	assert.Equal(t, health.Result{Reason: "200"}, look())
	assert.Equal(t, []int{1, 2, 1}, looks, "the one that was good is asked alone")
	good[0], good[1] = true, false
	assert.Equal(t, health.Pass, look().Outcome)
	good[0] = false
	assert.Equal(t, health.Result{Outcome: health.Down, Reason: "no backend is healthy: refused"}, look())
}

// What is healthy by spread.backendCheck, however slow, makes the load balancer fit.
func TestAnyBackendHasTheWholeTimeOfAProbe(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		takes := []time.Duration{time.Hour, 500 * time.Millisecond}
		under := make([]int, 2)
		p := &anyBackend{}
		for i := range takes {
			p.probers = append(p.probers, health.Func(func(ctx context.Context) health.Result {
				under[i]++
				defer func() { under[i]-- }()
				select {
				case <-time.After(takes[i]):
					return health.Result{Reason: "200"}
				case <-ctx.Done():
					return health.Result{Outcome: health.Fail, Reason: "timeout"}
				}
			}))
		}
		look := func() health.Outcome {
			ctx, cancel := context.WithTimeout(t.Context(), 600*time.Millisecond)
			defer cancel()
			return p.Probe(ctx).Outcome
		}
		look() // the first one is the one that is asked before the others
		for range 3 {
			assert.Equal(t, health.Pass, look())
			assert.Equal(t, []int{0, 0}, under, "no look goes on")
		}
		takes[0], takes[1] = takes[1], takes[0]
		look()
		for range 3 {
			assert.Equal(t, health.Pass, look())
		}
	})
}

func TestTowardIsNoVirtualAddress(t *testing.T) {
	h := spreadHost{host: &host{seen: seen{links: hostLinks{virtual: []netip.Addr{netip.MustParseAddr("127.0.0.1")}}}}}
	assert.False(t, h.Toward(instance.Place{Name: "lo"}, netip.MustParseAddr("127.0.0.1")).IsValid())
	h.seen.links.virtual = nil
	assert.Equal(t, netip.MustParseAddr("127.0.0.1"), h.Toward(instance.Place{Name: "lo"}, netip.MustParseAddr("127.0.0.1")))
}

// All backends stall at the same time: the first good probe of the first that is back counts, and the others are damped as ever.
func TestBackendsAreDampedOnlyWhileAnotherOneIsGood(t *testing.T) {
	all := newCompany(2)
	assert.True(t, all.alone(0)(t.Context()))
	all.note(0, true)
	assert.True(t, all.alone(0)(t.Context()), "it is not its own company")
	assert.False(t, all.alone(1)(t.Context()))
	all.note(0, false)
	assert.True(t, all.alone(1)(t.Context()))
}
