//go:build netns

package fence

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestFenceKnowsWhetherTheKernelHasALease(t *testing.T) {
	w := newWire(t)
	f := w.fence(long, 2*long)
	left := func(id uint32) time.Duration { return w.left(f, id) }
	leased := func() bool { return left(4) > 0 }
	require.NoError(t, f.hold(4, 6))
	assert.False(t, leased(), "nothing was advertised")
	w.advertise(w.own4, 51, 100)
	assert.True(t, leased())
	assert.LessOrEqual(t, left(4), long)
	assert.Zero(t, left(6), "another group")
	w.leases(f, 100*time.Millisecond)
	w.advertise(w.own4, 51, 100)
	assert.LessOrEqual(t, left(4), 100*time.Millisecond)
	w.holder.Eventually(func() bool { return !leased() }, "it is over")
	require.NoError(t, f.verify(), "an answer is not left for the next question")
	w.leases(f, long)
	require.NoError(t, f.renew(4, time.Now().Add(2*long)))
	assert.True(t, leased())
	assert.LessOrEqual(t, left(4), long, "no lease is longer than its length")
	w.lapse(f, 4)
	assert.False(t, leased())
}
