package route

import (
	"errors"
	"net/netip"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/keepvip/keepvip/election"
	"github.com/keepvip/keepvip/internal/base/bubble"
	"github.com/keepvip/keepvip/internal/kernel/intercept"
	"github.com/keepvip/keepvip/internal/serve/instance"
)

// TestDrainIsNotOverWithItsTime: who waits has to hear that connections go on, and hears it a moment later.
func TestDrainIsNotOverWithItsTime(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		f := newFake()
		f.arrives()
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

// TestDrainWaitsForNoConnectionOfThisNode: the kubelet stays connected to the address for as long as it runs, from whichever own address, and comes again.
func TestDrainWaitsForNoConnectionOfThisNode(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		f := newFake()
		s := begin(f, instance.Readiness{Open: false})
		apply(t, s, election.Serve)
		s.Drain(time.Now().Add(time.Minute))
		apply(t, s, election.Standby)
		for i := range uint16(8) { // a new connection each time
			f.set(func() {
				f.clients = []intercept.Client{{At: netip.AddrPortFrom(f.own[0], 1024+i), Open: true}, {At: netip.AddrPortFrom(otherOwn, 1024+i), Open: true}}
			})
			time.Sleep(countEvery / 2)
			synctest.Wait()
		}
		busy, _ := s.Draining()
		assert.False(t, busy)
		assert.Equal(t, "to the network", f.last())
		require.NoError(t, s.Close())
	})
}

func TestDrainWaitsForConnections(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		f := newFake()
		ended := intercept.Client{At: netip.MustParseAddrPort("10.97.0.3:1024")}
		f.clients = []intercept.Client{ended, {At: netip.MustParseAddrPort("10.97.0.2:1024"), Open: true}}
		s := begin(f, instance.Readiness{Open: false})
		apply(t, s, election.Serve)
		s.Drain(time.Now().Add(time.Minute))
		busy, _ := s.Draining()
		assert.False(t, busy, "it serves")
		apply(t, s, election.Standby)
		busy, _ = s.Draining()
		assert.True(t, busy)
		f.set(func() { f.clients, f.uncounted = []intercept.Client{ended}, errors.New("no memory") })
		time.Sleep(lookEvery)
		synctest.Wait()
		busy, _ = s.Draining()
		assert.True(t, busy, "nobody knows")
		f.set(func() { f.uncounted = nil })
		time.Sleep(lookEvery + countEvery)
		synctest.Wait()
		busy, _ = s.Draining()
		assert.False(t, busy)
		require.NoError(t, s.Close())
	})
}

// TestCloseDoesNotWaitForAnOperator, whose wait may be as long as a drain's limit.
func TestCloseDoesNotWaitForAnOperator(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		f := newFake()
		s := begin(f, instance.Readiness{Open: false})
		apply(t, s, election.Serve)
		s.Drain(time.Now().Add(time.Hour))
		apply(t, s, election.Standby)
		ended := make(chan error, 1)
		began := time.Now()
		go func() { ended <- s.Close() }()
		for len(ended) == 0 {
			require.LessOrEqual(t, time.Since(began), mostSettle+countEvery)
			f.arrives()
			time.Sleep(countEvery)
			synctest.Wait()
		}
		require.NoError(t, <-ended)
	})
}

// TestTranslationIsRenewedHoweverLongCountingTakes: new connections come for a while.
func TestTranslationIsRenewedHoweverLongCountingTakes(t *testing.T) {
	s := &Service{}
	now := time.Now()
	s.recount = now.Add(time.Minute)
	assert.Less(t, s.pause(now), lifetime)
	over, err := s.follow(now)
	assert.False(t, over)
	require.NoError(t, err)
	s.recount = now
	assert.Equal(t, countEvery, s.pause(now))
}
