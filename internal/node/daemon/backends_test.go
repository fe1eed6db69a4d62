package daemon

import (
	"context"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/keepvip/keepvip/internal/base/bubble"
	"github.com/keepvip/keepvip/internal/check/health"
	"github.com/keepvip/keepvip/internal/config"
	"github.com/keepvip/keepvip/internal/serve/instance"
	"github.com/keepvip/keepvip/internal/serve/service/spread"
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
	all, a, b := &company{}, &spread.Backend{}, &spread.Backend{}
	assert.True(t, all.alone(a)(t.Context()))
	all.note(a, true)
	assert.True(t, all.alone(a)(t.Context()), "it is not its own company")
	assert.False(t, all.alone(b)(t.Context()))
	all.note(a, false)
	assert.True(t, all.alone(b)(t.Context()))
	all.has(true)
	assert.False(t, all.alone(b)(t.Context()), "one that is not asked is good")
	all.has(false)
	all.note(a, true)
	all.leave(a)
	assert.True(t, all.alone(b)(t.Context()), "it is not asked any more")
}

// serving answers probes at an address of this host as a test says.
type serving struct {
	netip.AddrPort
	good atomic.Bool
}

func newServing(t *testing.T) *serving {
	t.Helper()
	s := &serving{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if !s.good.Load() {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	}))
	t.Cleanup(server.Close)
	s.AddrPort = server.Listener.Addr().(*net.TCPAddr).AddrPort()
	return s
}

// A backend that a reload adds is damped as all others: those that stay are watched as before.
func TestBackendsThatStayAreCompanyForThoseOfAReload(t *testing.T) {
	stays, added := newServing(t), newServing(t)
	stays.good.Store(true)
	v := config.VIP{Name: "api"}
	v.Spread.Ports = []config.SpreadPort{{Protocol: config.ProtocolTCP, Port: 80, Target: 80}}
	v.Spread.BackendCheck = config.Check{URL: "http://backend/", Interval: 10 * time.Millisecond, Timeout: time.Second, Rise: 1000, Fall: 1}
	of := func(s *serving) config.Backend {
		return config.Backend{Addresses: []netip.Addr{s.Addr()}, Port: s.Port(), Weight: 1}
	}
	build, all := &builder{log: slog.New(slog.DiscardHandler), probings: newProbings()}, &company{}
	var watchers sync.WaitGroup
	ctx, cancel := context.WithCancel(t.Context())
	defer watchers.Wait()
	defer cancel()
	watch := func(b *spread.Backend) *atomic.Int32 {
		state := &atomic.Int32{}
		state.Store(int32(health.Unknown))
		watchers.Go(func() { b.Watch(ctx, func(is health.Verdict) { state.Store(int32(is.State)) }) })
		return state
	}
	is := func(want health.State, of *atomic.Int32) func() bool {
		return func() bool { return health.State(of.Load()) == want }
	}
	v.Spread.Backends = []config.Backend{of(stays)}
	require.Eventually(t, is(health.Healthy, watch(build.backends(v, all)[0])), 10*time.Second, time.Millisecond)

	v.Spread.Backends = append(v.Spread.Backends, of(added))
	next := build.backends(v, all)[1] // the other one is watched already
	assert.False(t, all.alone(next)(t.Context()))
	state := watch(next)
	for _, good := range []bool{true, false} { // the first good probe since the start counts in any case
		added.good.Store(good)
		want := map[bool]health.State{true: health.Healthy, false: health.Unhealthy}[good]
		require.Eventually(t, is(want, state), 10*time.Second, time.Millisecond)
	}
	added.good.Store(true)
	assert.Never(t, is(health.Healthy, state), 300*time.Millisecond, time.Millisecond, "one good probe after a fall")
	cancel()
	watchers.Wait()
	assert.Empty(t, all.good, "nobody is watched any more")
}
