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
	const lease = 100 * time.Millisecond
	f := w.fence(lease, 60*time.Second)
	left := func(id uint32) time.Duration {
		got, err := f.LeaseLeft(id)
		require.NoError(t, err)
		return got
	}
	leased := func() bool { return left(4) > 0 }
	require.NoError(t, f.Hold(4, 6))
	assert.False(t, leased(), "nothing was advertised")
	w.advertise(w.own4, 51, 100)
	assert.True(t, leased())
	assert.LessOrEqual(t, left(4), lease)
	assert.Zero(t, left(6), "another group")
	time.Sleep(lease + 20*time.Millisecond)
	assert.False(t, leased(), "it is over")
	require.NoError(t, f.Verify(), "an answer is not left for the next question")
	require.NoError(t, f.Renew(4, time.Now().Add(time.Minute)))
	assert.True(t, leased())
	assert.LessOrEqual(t, left(4), lease, "no lease is longer than its length")
	require.NoError(t, f.Renew(4, time.Now().Add(50*time.Millisecond)))
	assert.LessOrEqual(t, left(4), 50*time.Millisecond)
}
