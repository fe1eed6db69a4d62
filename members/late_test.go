package members

import (
	"errors"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/keepvip/keepvip/internal/base/bubble"
)

func TestLateOpensWhenItCan(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		taken := errors.New("address already in use")
		s, tries := newWireSocket(), 0
		late := NewLate(func() (Socket, error) {
			if tries++; tries < 3 {
				return nil, taken
			}
			return s, nil
		})
		h := NewHub(late, ConnConfig{Source: nodeB}, newAuth(t, time.Now()), nil)
		w := h.Join(group, nil, 0)
		require.ErrorIs(t, w.Send(full()), errNotOpen)
		time.Sleep(3 * lateEvery)
		synctest.Wait()
		require.NoError(t, w.Send(full()))
		s.in <- received1{b: <-s.out, source: nodeA}
		synctest.Wait()
		assert.Len(t, w.Take(nil), 1)
		time.Sleep(time.Minute)
		assert.Equal(t, 3, tries)
		require.NoError(t, h.Close())
	})
}

func TestLateClosedBeforeItIsOpen(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		late := NewLate(func() (Socket, error) { return nil, errors.New("address already in use") })
		h := NewHub(late, ConnConfig{Source: nodeB}, newAuth(t, time.Now()), nil)
		time.Sleep(2500 * time.Millisecond)
		require.NoError(t, h.Close())
		_, err := late.Receive(nil)
		assert.ErrorIs(t, err, net.ErrClosed)
	})
}
