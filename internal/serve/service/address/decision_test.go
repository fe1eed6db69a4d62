package address

import (
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/keepvip/keepvip/election"
	"github.com/keepvip/keepvip/internal/base/bubble"
	"github.com/keepvip/keepvip/internal/base/code"
	"github.com/keepvip/keepvip/internal/serve/instance"
)

// alone is a service that is told bare decisions, and nothing runs around it.
type alone struct {
	*service
	host    *fakeHost
	kernel  *fakeFence
	elector *fakeElector

	mu      sync.Mutex // guards blocked
	blocked election.Fitness
}

func newAlone() *alone {
	a := &alone{host: newFakeHost(), kernel: &fakeFence{egress: true}, elector: newFakeElector()}
	in := entry{Part: Part{Addresses: vips, Schedule: announcing(0), VRID: 51}}
	fenced(a.kernel)(&in)
	a.service = newService(nil, in.Part, a.host, slog.New(slog.DiscardHandler), func(b election.Fitness) {
		a.mu.Lock()
		defer a.mu.Unlock()
		a.blocked = b
	})
	return a
}

func (a *alone) newest() election.Fitness {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.blocked
}

func (a *alone) begin() { a.Begin(instance.Term{Place: a.host.place, Elector: a.elector}) }

// apply decides, and waits until the fence has followed.
func (a *alone) apply(t *testing.T, r election.Role) error {
	d := election.Decision{Role: r, Reason: "decided"}
	if r == election.Serve {
		d.Holder = nodeA
	}
	err := a.Apply(t.Context(), d)
	synctest.Wait()
	return err
}

// become brings the service to a role by the shortest way that there is.
func (a *alone) become(t *testing.T, r election.Role) {
	if r == election.Quiet {
		require.NoError(t, a.apply(t, election.Serve))
	}
	require.NoError(t, a.apply(t, r))
	a.host.take()
	a.kernel.take()
}

func (a *alone) close(t *testing.T) {
	require.NoError(t, a.Close())
	assert.Empty(t, a.host.bound)
	assert.False(t, a.kernel.guarded())
}

var roleNames = []string{"off", "standby", "quiet", "serve"}

func TestServiceGoesFromEachRoleToEach(t *testing.T) {
	var (
		bound    = []string{"add 10.77.0.100/32 2", "add fd77::100/128 2", "announce 2"}
		released = []string{"del 10.77.0.100/32 2", "del fd77::100/128 2"}
	)
	tests := map[[2]election.Role][]string{ // what happens to the addresses; nothing where a pair is missing
		{election.Off, election.Serve}:     bound,
		{election.Standby, election.Serve}: bound,
		{election.Quiet, election.Serve}:   bound, // they are there; it may still be true
		{election.Quiet, election.Off}:     released,
		{election.Quiet, election.Standby}: released,
		{election.Serve, election.Off}:     released,
		{election.Serve, election.Standby}: released,
	}
	for _, from := range []election.Role{election.Off, election.Standby, election.Quiet, election.Serve} {
		for _, to := range []election.Role{election.Off, election.Standby, election.Quiet, election.Serve} {
			t.Run(fmt.Sprintf("%s to %s", roleNames[from], roleNames[to]), func(t *testing.T) {
				bubble.Test(t, func(t *testing.T) {
					a := newAlone()
					a.begin()
					a.become(t, from)
					require.NoError(t, a.apply(t, to))
					assert.Equal(t, tests[[2]election.Role{from, to}], a.host.take())
					a.kernel.take()
					require.NoError(t, a.apply(t, to))
					assert.Empty(t, a.host.take(), "twice the same")
					assert.Empty(t, a.kernel.take(), "twice the same")
					quiet := from == election.Serve && to == election.Quiet || from == election.Quiet && to == election.Quiet
					assert.Equal(t, quiet, a.Status().Passing)
					a.close(t)
				})
			})
		}
	}
}

func TestServiceThatIsClosedLeavesNothingBehind(t *testing.T) {
	for _, role := range []election.Role{election.Off, election.Standby, election.Quiet, election.Serve} {
		for _, ended := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, term ended %v", roleNames[role], ended), func(t *testing.T) {
				bubble.Test(t, func(t *testing.T) {
					a := newAlone()
					a.host.bound = []Binding{{eth0, vip4}, {3, vip6}} // of an earlier run
					a.begin()
					a.become(t, role)
					if ended {
						a.End()
					}
					a.close(t)
					require.ErrorIs(t, a.Announce(), instance.ErrNotHeld)
					require.ErrorIs(t, a.apply(t, election.Off), errClosed)
					a.HostChanged(a.host.place)
				})
			})
		}
	}
}

func TestServiceThatNeverBeganLeavesNothingBehind(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		a := newAlone()
		a.host.bound = []Binding{{eth0, vip4}}
		require.ErrorIs(t, a.apply(t, election.Serve), errNoTerm)
		require.ErrorIs(t, a.Announce(), instance.ErrNotHeld)
		a.close(t)
	})
}

// What has failed is not remembered as done.
func TestServiceServesWhatFailedBefore(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		a := newAlone()
		a.begin()
		a.host.set(func(h *fakeHost) { h.fail = errors.New("no space left") })
		require.ErrorContains(t, a.apply(t, election.Serve), "no space left")
		assert.Empty(t, a.host.bound)
		assert.False(t, a.kernel.guarded())
		a.host.set(func(h *fakeHost) { h.fail = nil })
		require.NoError(t, a.apply(t, election.Serve))
		assert.Len(t, a.host.bound, 2)
		a.close(t)
	})
}

// A service keeps from term to term what it has learned: it may adopt what an earlier run has left as long as nobody was heard.
func TestServiceAdoptsInALaterTerm(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		a := newAlone()
		a.host.bound = []Binding{{eth0, vip4}}
		a.begin()
		a.End()
		a.begin()
		require.NoError(t, a.apply(t, election.Standby))
		a.HostChanged(a.host.place)
		assert.Empty(t, a.host.take())
		require.NoError(t, a.Apply(t.Context(), election.Decision{Role: election.Standby, Holder: nodeB}))
		assert.Equal(t, []string{"del 10.77.0.100/32 2"}, a.host.take())
		a.close(t)
	})
}

func TestServiceSaysWhatBlocksIt(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		a := newAlone()
		a.Reconfigure(Part{Addresses: vips, Schedule: announcing(0), Lease: time.Second, Yield: true})
		a.begin()
		require.NoError(t, a.apply(t, election.Serve))
		a.host.claims <- Claim{Address: vip4.Addr(), MAC: foreignMAC}
		time.Sleep(time.Second) // the lease, by whose end every member has been heard
		synctest.Wait()
		assert.Equal(t, election.Fitness{Out: true, Reason: "yielded: 10.77.0.100 is claimed by " + foreignMAC + ", which takes no part in the election", Code: code.DuplicateAddress}, a.newest())
		time.Sleep(foreignForget)
		synctest.Wait()
		assert.Equal(t, election.Fitness{}, a.newest())
		a.close(t)
	})
}
