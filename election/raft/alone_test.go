package raft

import (
	"net/netip"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/keepvip/keepvip/internal/base/bubble"
)

// A fence waits for the news of a longer lease. Others bring them by their answers, and a leader without other voters has none: the first of all, or the
// last.
func TestLeaderWithoutOtherVotersTellsOfItsLease(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		l := newLan(t, 1)
		defer l.stopAll()
		h := l.hosts[addr(0)]
		h.boot()
		l.await(5 * time.Second)
		h.extends(t)
		l.add(1, []netip.Addr{addr(0), addr(1)}).boot()
		require.NoError(t, h.node.Change(t.Context(), OpAdd, addr(1)))
		l.await(5 * time.Second)
		h.extends(t)
		require.NoError(t, h.node.Change(t.Context(), OpRemove, addr(1)))
		h.extends(t)
	})
}

// extends asserts for some time that the news come well before the lease of the last ones is over.
func (h *host) extends(t *testing.T) {
	t.Helper()
	for end := time.Now().Add(10 * time.Second); time.Now().Before(end); {
		select {
		case <-h.elector.Extended():
			require.Greater(t, time.Until(h.elector.LeaseEnd()), time.Duration(0))
		case <-time.After(LeaseLength(h.lan.heartbeat) / 2):
			require.Fail(t, "no news of the lease")
		}
	}
}
