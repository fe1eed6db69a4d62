package address

import (
	"context"
	"errors"
	"net/netip"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/keepvip/keepvip/election"
	"github.com/keepvip/keepvip/internal/base/code"
	"github.com/keepvip/keepvip/internal/serve/instance"
)

// drainingElector passes the address on when it is asked to, and notes what it is told to tell the others.
type drainingElector struct {
	*fakeElector
	draining atomic.Bool
}

func (e *drainingElector) SetDraining(draining bool) { e.draining.Store(draining) }

func (e *drainingElector) Handover(context.Context, string) error {
	if err := e.tell(quiet); err != nil {
		return err
	}
	return e.tell(election.Decision{Role: election.Standby, Holder: nodeB})
}

// electedBy makes an instance with that fence, whose elector is e around a new fake one in each term.
func electedBy(kernel *fakeFence, e election.Elector, inner **fakeElector) func(*entry) {
	return func(in *entry) {
		fenced(kernel)(in)
		in.Elect = func(instance.Place) (election.Elector, func(), error) {
			*inner = newFakeElector()
			return e, func() {}, nil
		}
	}
}

// passedOnElector has passed the address on when it is asked to, because the node is not fit; the next node has yet to announce it.
type passedOnElector struct{ drainingElector }

func (e *passedOnElector) Handover(context.Context, string) error {
	if err := e.tell(quiet); err != nil {
		return err
	}
	go func() {
		time.Sleep(10 * time.Millisecond)
		_ = e.tell(election.Decision{Role: election.Standby, Holder: nodeB})
	}()
	return election.ErrNotActive
}

func TestDrainWaitWaitsForAnAddressThatIsBeingPassedOn(t *testing.T) {
	e := &passedOnElector{}
	run(t, nil, electedBy(&fakeFence{egress: true}, e, &e.fakeElector), func(t *testing.T, b *bench) {
		synctest.Wait()
		require.NoError(t, e.decide(election.Serve, nodeA))
		b.host.set(func(h *fakeHost) { h.open = 3 })
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
		defer cancel()
		err := b.DrainWait(ctx, nil)
		require.ErrorIs(t, err, election.ErrTimeout)
		assert.ErrorContains(t, err, "3 connections were reset")
	})
}

// whileDraining runs a holder with some connections that is drained with a wait of two seconds.
func whileDraining(t *testing.T, test func(t *testing.T, b *bench, e *drainingElector, kernel *fakeFence, drained <-chan error)) {
	t.Helper()
	kernel, e := &fakeFence{egress: true}, &drainingElector{}
	run(t, nil, electedBy(kernel, e, &e.fakeElector), func(t *testing.T, b *bench) {
		synctest.Wait()
		require.NoError(t, e.decide(election.Serve, nodeA))
		b.host.set(func(h *fakeHost) { h.open = 3 })
		b.host.take()
		kernel.take()
		drained := make(chan error, 1)
		go func() {
			ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
			defer cancel()
			drained <- b.DrainWait(ctx, nil)
		}()
		synctest.Wait()
		test(t, b, e, kernel, drained)
	})
}

func TestDrainWaitServesUntilTheConnectionsEnd(t *testing.T) {
	whileDraining(t, func(t *testing.T, b *bench, e *drainingElector, kernel *fakeFence, drained <-chan error) {
		assert.True(t, e.draining.Load(), "the next node has to know from the beginning")
		time.Sleep(1200 * time.Millisecond)
		assert.Equal(t, instance.ObservedDraining, b.Status()[0].Observed)
		assert.NotContains(t, b.host.take(), "del 10.77.0.100/32 2")
		assert.False(t, kernel.silent(), "the lease lives on")
		require.Empty(t, drained)
		b.host.set(func(h *fakeHost) { h.open = 0 })
		time.Sleep(2 * countEvery)
		require.NoError(t, <-drained)
		synctest.Wait()
		assert.Contains(t, b.host.take(), "del 10.77.0.100/32 2")
		assert.False(t, e.draining.Load())
		assert.Equal(t, instance.ObservedIneligible, b.Status()[0].Observed)
	})
}

// For want of a descriptor, as it may be. A connection that is not counted is no connection that has ended.
func TestDrainWaitGoesOnWhileConnectionsCannotBeCounted(t *testing.T) {
	whileDraining(t, func(t *testing.T, b *bench, _ *drainingElector, _ *fakeFence, drained <-chan error) {
		b.host.set(func(h *fakeHost) { h.uncounted = errors.New("too many open files") })
		time.Sleep(3 * countEvery)
		require.Empty(t, drained)
		b.host.set(func(h *fakeHost) { h.uncounted = nil })
		time.Sleep(3 * countEvery)
		require.Empty(t, drained, "there are three yet")
		b.host.set(func(h *fakeHost) { h.open = 0 })
		time.Sleep(2 * countEvery)
		require.NoError(t, <-drained)
	})
}

func TestDrainWaitSaysThatThereMayBeMoreWhereNothingCanBeCounted(t *testing.T) {
	e := &drainingElector{}
	run(t, nil, electedBy(&fakeFence{egress: true}, e, &e.fakeElector), func(t *testing.T, b *bench) {
		synctest.Wait()
		require.NoError(t, e.decide(election.Serve, nodeA))
		b.host.set(func(h *fakeHost) { h.uncounted = errors.New("too many open files") })
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
		defer cancel()
		require.ErrorIs(t, b.DrainWait(ctx, nil), election.ErrTimeout)
	})
}

// The elector has no lease any more, but the address is bound and must stay undiscoverable: both nodes would answer.
func TestDrainWaitMendsTheFence(t *testing.T) {
	for name, look := range map[string]func(b *bench) instance.FenceStatus{
		"looked at by itself": nil,
		"looked at by status": func(b *bench) instance.FenceStatus { return b.Status()[0].Fence },
	} {
		t.Run(name, func(t *testing.T) {
			whileDraining(t, func(t *testing.T, b *bench, e *drainingElector, kernel *fakeFence, drained <-chan error) {
				e.setLapsed(true)
				time.Sleep(700 * time.Millisecond)
				kernel.take()
				kernel.set(func(f *fakeFence) { f.broken = errors.New("table gone") })
				if look != nil {
					assert.Equal(t, instance.FenceStatus{Reason: "table gone", Code: code.FenceLost}, look(b))
				} else {
					time.Sleep(2 * checkEvery)
				}
				synctest.Wait()
				did := kernel.take()
				require.Contains(t, did, "mend")
				assert.Equal(t, "renew", did[slices.Index(did, "mend")+1], "the kernel may have taken its time")
				kernel.set(func(f *fakeFence) {
					assert.True(t, f.leaseEnd().After(time.Now()), "whoever mends it")
					assert.False(t, f.lease.After(time.Now().Add(b.instance(fenced(kernel)).Lease)), "no longer than that of the drain")
				})
				assert.Equal(t, mendedOnce(b.Status()[0].Fence.Repaired), b.Status()[0].Fence)
				require.ErrorIs(t, <-drained, election.ErrTimeout)
			})
		})
	}
}

func TestDrainWaitResetsWhatIsLeft(t *testing.T) {
	whileDraining(t, func(t *testing.T, b *bench, e *drainingElector, _ *fakeFence, drained <-chan error) {
		b.host.set(func(h *fakeHost) { h.slow = 20 * time.Millisecond })
		err := <-drained
		require.ErrorIs(t, err, election.ErrTimeout)
		assert.ErrorContains(t, err, "3 connections were reset")
		synctest.Wait()
		assert.Contains(t, b.host.take(), "del 10.77.0.100/32 2")
		assert.False(t, e.draining.Load())
	})
}

func TestDrainWaitEndsWhenTheAddressComesBack(t *testing.T) {
	whileDraining(t, func(t *testing.T, b *bench, e *drainingElector, kernel *fakeFence, drained <-chan error) {
		require.NoError(t, e.decide(election.Serve, nodeA))
		require.NoError(t, <-drained, "they are drained as before")
		synctest.Wait()
		assert.Contains(t, kernel.take(), "reopen")
		assert.NotContains(t, b.host.take(), "del 10.77.0.100/32 2")
		assert.False(t, e.draining.Load())
	})
}

// The log has said who has the address when the drain began, so its early end says nothing else.
func TestDrainThatIsCutShortIsNotCalledAnAddressGivenUp(t *testing.T) {
	whileDraining(t, func(t *testing.T, b *bench, e *drainingElector, _ *fakeFence, _ <-chan error) {
		require.NoError(t, e.tell(election.Decision{Role: election.Off, Reason: "stopped"}))
		synctest.Wait()
		assert.Contains(t, b.log.String(), "address passed on; its connections are drained\" to=10.77.0.12")
		assert.Contains(t, b.log.String(), `msg="draining of connections ended before its time" reason=stopped`)
		assert.NotContains(t, b.log.String(), "given up")
	})
}

func TestTakerForwardsWhatTheFormerHolderDrains(t *testing.T) {
	run(t, nil, nil, func(t *testing.T, b *bench) {
		e := <-b.electors
		drains := func(draining bool) {
			e.mu.Lock()
			defer e.mu.Unlock()
			e.status.Members = []election.Member{
				{Address: nodeA, Self: true}, {Address: nodeB, Draining: draining}, {Address: netip.MustParseAddr("10.77.0.13")},
			}
		}
		drains(true)
		require.NoError(t, e.tell(election.Decision{Role: election.Serve, Granted: true}))
		assert.Equal(t, []string{
			"add 10.77.0.100/32 2", "add fd77::100/128 2", "usable", "forward 2 to 10.77.0.12", "announce 2",
		}, b.host.take())
		b.host.set(func(h *fakeHost) {
			assert.Len(t, h.forgotten, 2, "a client uses the port of a connection that has ended here for one that is drained")
		})
		time.Sleep(500 * time.Millisecond)
		assert.Empty(t, b.host.take())
		drains(false)
		time.Sleep(2 * forwardEvery)
		synctest.Wait()
		assert.Equal(t, []string{"forward no more"}, b.host.take())
	})
}

// What was reset at the end of an earlier one is none of the next one's.
func TestDrainWaitForgetsWhatAnEarlierOneReset(t *testing.T) {
	e := &drainingElector{}
	run(t, nil, electedBy(&fakeFence{egress: true}, e, &e.fakeElector), func(t *testing.T, b *bench) {
		synctest.Wait()
		require.NoError(t, e.decide(election.Serve, nodeA))
		b.host.set(func(h *fakeHost) { h.open = 3 })
		wait := func() error {
			ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
			defer cancel()
			return b.DrainWait(ctx, nil)
		}
		require.ErrorContains(t, wait(), "3 connections were reset")
		require.NoError(t, wait(), "the address is elsewhere")
	})
}
