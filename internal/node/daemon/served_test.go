package daemon

import (
	"errors"
	"log/slog"
	"net/netip"
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/keepvip/keepvip/election"
	"github.com/keepvip/keepvip/internal/base/bubble"
	"github.com/keepvip/keepvip/internal/config"
	"github.com/keepvip/keepvip/internal/kernel/hostroute"
	"github.com/keepvip/keepvip/internal/serve/instance"
	"github.com/keepvip/keepvip/internal/serve/service/route"
)

// routing is a host whose routes are told of.
type routing struct {
	route.Host
	mu  sync.Mutex // guards did
	did []string
}

func (r *routing) do(what string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !slices.Contains(r.did[max(len(r.did)-1, 0):], what) { // it is put each second
		r.did = append(r.did, what)
	}
	return nil
}

func (r *routing) done() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.did)
}

func (r *routing) OpenRoutes() (route.Routes, error) { return r, nil }
func (r *routing) Use() (int, error)                 { return 7, nil }
func (r *routing) Mend() (int, error)                { return 7, nil }
func (r *routing) Release()                          {}
func (r *routing) Close()                            {}

func (r *routing) Put(hostroute.Table, int, []netip.Addr, bool) error { return r.do("put") }
func (r *routing) Remove(hostroute.Table, []netip.Addr) error         { return r.do("removed") }
func (r *routing) Missing(hostroute.Table, int, []netip.Addr) ([]netip.Addr, error) {
	return nil, nil
}

// TestHolderThatCannotPassTheAddressOnKeepsItsRoute all the time, though it is asked again and again: routers damp routes
// that come and go.
func TestHolderThatCannotPassTheAddressOnKeepsItsRoute(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		v := config.VIP{Name: "api", Election: config.ElectionVRRP, Addresses: []netip.Prefix{netip.MustParsePrefix("10.77.0.100/32")}}
		host, addresses, log := &routing{}, &bindingService{}, slog.New(slog.DiscardHandler)
		s := &servedAddresses{addresses: addresses, host: plainHost{}, log: log, route: route.New(v, host, log)}
		s.Begin(instance.Term{})
		for _, step := range []struct {
			role   election.Role
			answer error
			did    []string
		}{
			{election.Serve, nil, []string{"put"}},
			{election.Quiet, errors.New("the fence does not follow in time"), []string{"put"}},
			{election.Quiet, errors.New("the fence does not follow in time"), []string{"put"}},
			{election.Quiet, nil, []string{"put", "removed"}},
			{election.Standby, nil, []string{"put", "removed"}},
			{election.Serve, nil, []string{"put", "removed", "put"}},
			{election.Standby, errors.New("not removed"), []string{"put", "removed", "put", "removed"}},
		} {
			addresses.answer = step.answer
			require.Equal(t, step.answer, s.Apply(t.Context(), election.Decision{Role: step.role}))
			assert.Equal(t, step.did, host.done(), step)
		}
		require.EqualError(t, s.Close(), "something stays")
	})
}
