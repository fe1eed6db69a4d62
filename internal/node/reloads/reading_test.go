package reloads

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"

	"github.com/keepvip/keepvip/internal/base/bubble"
)

func TestSourcesThatHangAreReadOnceAtATime(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		s, hangs := NewReading(), make(chan struct{})
		var begun atomic.Int32
		hanging := func() (int, error) { begun.Add(1); <-hangs; return 7, nil }
		for range 3 {
			_, err := Read(t.Context(), s, hanging)
			assert.EqualError(t, err, "the configuration cannot be read within 5s: look at the file system that it is on")
		}
		assert.Equal(t, int32(1), begun.Load())
		ends, end := context.WithCancel(t.Context())
		end()
		_, err := Read(ends, s, hanging)
		assert.ErrorIs(t, err, ErrProcessEnds)
		close(hangs)
		synctest.Wait()
		got, err := Read(t.Context(), s, hanging)
		assert.NoError(t, err)
		assert.Equal(t, 7, got)
	})
}
