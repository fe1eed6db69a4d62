package route

import (
	"errors"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/keepvip/keepvip/election"
	"github.com/keepvip/keepvip/internal/base/bubble"
	"github.com/keepvip/keepvip/internal/config"
	"github.com/keepvip/keepvip/internal/serve/instance"
)

// TestRouteHangsOnTheDeviceThatIsThere when the node serves once more: somebody has deleted the one of before, and nobody
// has looked at it meanwhile.
func TestRouteHangsOnTheDeviceThatIsThere(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		f := newFake()
		s := begin(f, instance.Readiness{Open: true})
		apply(t, s, election.Serve)
		apply(t, s, election.Standby)
		f.set(func() { f.deleted = true })
		apply(t, s, election.Serve)
		assert.Equal(t, "route by 8", f.last())
		require.NoError(t, s.Close())
	})
}

// TestRouteThatIsRefusedIsPutLater: an elector that has the addresses bound on the link decides once.
func TestRouteThatIsRefusedIsPutLater(t *testing.T) {
	refused := errors.New("no buffer space available")
	serve := election.Decision{Role: election.Serve}
	bubble.Test(t, func(t *testing.T) {
		f := newFake()
		v := entry(config.VIP{})
		v.Election = config.ElectionVRRP
		s := New(v, f, slog.New(slog.DiscardHandler))
		s.Begin(instance.Term{})
		f.set(func() { f.refused = refused })
		require.ErrorIs(t, s.Apply(t.Context(), serve), refused)
		f.set(func() { f.refused = nil })
		time.Sleep(lookEvery + time.Millisecond)
		synctest.Wait()
		assert.Equal(t, []string{"no route", "route by 7"}, f.said())
		assert.Equal(t, 1, s.Status().Routes.Present)
		apply(t, s, election.Standby)

		// For an hour, in which a route of the other family must not come and go each second.
		f.set(func() { f.refused, f.tries = refused, 0 })
		require.ErrorIs(t, s.Apply(t.Context(), serve), refused)
		time.Sleep(time.Hour)
		synctest.Wait()
		f.set(func() { assert.InDelta(t, 65, f.tries, 5) })
		f.set(func() { f.refused = nil })
		time.Sleep(mostBackoff + lookEvery)
		synctest.Wait()
		assert.Equal(t, "route by 7", f.last())
		apply(t, s, election.Standby)

		// Who does not serve any more tries no more.
		for _, cease := range []func(){func() { apply(t, s, election.Standby) }, s.End} {
			f.set(func() { f.refused = refused })
			require.ErrorIs(t, s.Apply(t.Context(), serve), refused)
			cease()
			f.set(func() { f.refused, f.tries = nil, 0 })
			time.Sleep(2 * mostBackoff)
			synctest.Wait()
			f.set(func() { assert.Zero(t, f.tries) })
		}
		require.NoError(t, s.Close())
	})
}
