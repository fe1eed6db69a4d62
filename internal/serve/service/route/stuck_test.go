package route

import (
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/keepvip/keepvip/election"
	"github.com/keepvip/keepvip/internal/base/bubble"
	"github.com/keepvip/keepvip/internal/serve/instance"
)

// TestWhatArrivesIsServedWhileTheRouteStays: it would only come again.
func TestWhatArrivesIsServedWhileTheRouteStays(t *testing.T) {
	kept := errors.New("no buffer space available")
	for name, ready := range map[string]instance.Readiness{"its check fails": {Open: true}, "it is taken out": {}} {
		t.Run(name, func(t *testing.T) {
			bubble.Test(t, func(t *testing.T) {
				f := newFake()
				s := begin(f, ready)
				apply(t, s, election.Serve)
				served := f.said()
				s.Drain(time.Now().Add(time.Minute))
				f.set(func() { f.stuck = kept })
				for range 2 {
					require.ErrorIs(t, s.Apply(t.Context(), election.Decision{Role: election.Standby}), kept)
				}
				time.Sleep(3 * lookEvery)
				synctest.Wait()
				assert.Equal(t, served, f.said())
				assert.Equal(t, 1, s.Status().Routes.Present)
				busy, _ := s.Draining()
				assert.True(t, busy)
				f.set(func() { f.stuck = nil })
				time.Sleep(lookEvery + settle + countEvery)
				synctest.Wait()
				assert.Equal(t, []string{"no route", "to the network"}, f.said()[len(served):])
				assert.Zero(t, s.Status().Routes.Present)
				require.NoError(t, s.Close())
			})
		})
	}
}

// TestRouteThatStaysIsTakenAwayAtTheEnd, or the error says that it is left.
func TestRouteThatStaysIsTakenAwayAtTheEnd(t *testing.T) {
	kept := errors.New("no buffer space available")
	for _, goesOn := range []error{nil, kept} {
		bubble.Test(t, func(t *testing.T) {
			f := newFake()
			f.tun = errors.New("open /dev/net/tun: no such file or directory") // the route hangs on lo
			s := begin(f, instance.Readiness{})
			apply(t, s, election.Serve)
			f.set(func() { f.stuck = kept })
			require.ErrorIs(t, s.Apply(t.Context(), election.Decision{Role: election.Off}), kept)
			f.set(func() { f.stuck = goesOn })
			require.ErrorIs(t, s.Close(), goesOn)
			assert.Equal(t, goesOn == nil, slices.Contains(f.said(), "no route"))
		})
	}
}
