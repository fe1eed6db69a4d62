package daemon

import (
	"errors"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// pooledSocket is open once at most at its place, as a port is.
type pooledSocket struct{ open *atomic.Int32 }

func (s *pooledSocket) Close() error {
	s.open.Add(-1)
	return errors.New("the interface is gone")
}

func opens(n *atomic.Int32) func() (*pooledSocket, error) {
	return func() (*pooledSocket, error) {
		if n.Add(1) > 1 {
			return nil, errors.New("open twice")
		}
		return &pooledSocket{n}, nil
	}
}

func TestPoolOpensOnceAndClosesWithTheLastUser(t *testing.T) {
	var p pool[int, *pooledSocket]
	var n, other atomic.Int32
	a, leaveA, err := p.get(1, opens(&n))
	require.NoError(t, err)
	b, leaveB, err := p.get(1, opens(&n))
	require.NoError(t, err)
	assert.Same(t, a, b)
	c, leaveC, err := p.get(2, opens(&other))
	require.NoError(t, err)
	assert.NotSame(t, a, c)

	leaveA()
	leaveA() // no user of it any more
	assert.EqualValues(t, 1, n.Load())
	leaveB()
	assert.Zero(t, n.Load())
	assert.EqualValues(t, 1, other.Load())

	again, leaveAgain, err := p.get(1, opens(&n))
	require.NoError(t, err)
	assert.NotSame(t, a, again)
	leaveB() // of the one before
	assert.EqualValues(t, 1, n.Load())
	leaveAgain()
	leaveC()
	assert.Empty(t, p.open)
}

func TestPoolOpenFails(t *testing.T) {
	var p pool[int, *pooledSocket]
	var n atomic.Int32
	down := errors.New("the interface is down")
	_, leave, err := p.get(1, func() (*pooledSocket, error) { return nil, down })
	require.ErrorIs(t, err, down)
	assert.Nil(t, leave)
	assert.Empty(t, p.open)

	_, leave, err = p.get(1, opens(&n)) // is tried again
	require.NoError(t, err)
	leave()
	assert.Zero(t, n.Load())
}

func TestPoolUserLeavesWhileAnotherOpens(t *testing.T) {
	var p pool[int, *pooledSocket]
	var n, other atomic.Int32
	_, leave, err := p.get(1, opens(&n))
	require.NoError(t, err)
	begun, goOn := make(chan struct{}), make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		_, leaveOther, err := p.get(2, func() (*pooledSocket, error) {
			close(begun)
			<-goOn
			return opens(&other)()
		})
		if assert.NoError(t, err) {
			leaveOther()
		}
	})
	<-begun
	wg.Go(leave)
	wg.Go(leave)
	wg.Go(func() {
		_, leave, err := p.get(1, opens(&n)) // before the other has left, or after that
		if assert.NoError(t, err) {
			leave()
		}
	})
	close(goOn)
	wg.Wait()
	assert.Zero(t, n.Load())
	assert.Zero(t, other.Load())
	assert.Empty(t, p.open)
}

func TestPoolManyUsersAtOnce(t *testing.T) {
	var p pool[int, *pooledSocket]
	var open [2]atomic.Int32
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			for range 200 {
				s, leave, err := p.get(i%2, opens(&open[i%2]))
				if !assert.NoError(t, err) {
					return
				}
				assert.EqualValues(t, 1, s.open.Load())
				leave()
			}
		})
	}
	wg.Wait()
	assert.Empty(t, p.open)
	assert.Zero(t, open[0].Load()+open[1].Load())
}
