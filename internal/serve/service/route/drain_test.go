package route

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/keepvip/keepvip/election"
	"github.com/keepvip/keepvip/internal/base/bubble"
	"github.com/keepvip/keepvip/internal/serve/instance"
)

// TestDrainIsNotOverWithItsTime: who waits has to hear that connections go on, and hears it a moment later.
func TestDrainIsNotOverWithItsTime(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		f := newFake()
		f.connections = 1
		s := begin(f, instance.Readiness{Open: false})
		apply(t, s, election.Serve)
		s.Drain(time.Now().Add(time.Minute))
		apply(t, s, election.Standby)
		time.Sleep(time.Minute + countEvery/2)
		synctest.Wait()
		busy, _ := s.Draining()
		assert.True(t, busy)
		time.Sleep(3 * lookEvery)
		synctest.Wait()
		busy, _ = s.Draining()
		assert.False(t, busy, "nobody waits any more")
		require.NoError(t, s.Close())
	})
}
