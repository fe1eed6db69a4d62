package members

import (
	"net/netip"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/keepvip/keepvip/internal/base/bubble"
)

// A member whose own address is not in the list, and one behind a router, are refused and named: nothing else tells a list that is wrong from a
// filter on the way.
func TestHubNamesWhomTheConfigurationKeepsOut(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		ttl := 255
		s := newWireSocket()
		s.ttl = &ttl
		h := NewHub(s, ConnConfig{Source: nodeB}, newAuth(t, time.Now()), nil)
		defer h.Close()
		w := h.Join(group, []netip.Addr{nodeA, nodeB}, 0)
		m := full()
		say := func(m Message, from netip.Addr) []Received {
			b, err := m.Append(nil, 1)
			require.NoError(t, err)
			s.in <- received1{b: b, source: from}
			synctest.Wait()
			got := w.Take(nil)
			time.Sleep(time.Second)
			return got
		}
		got := say(m, nodeC)
		require.Len(t, got, 1)
		assert.Equal(t, []any{nodeC, RejectPeer}, []any{got[0].Source, got[0].Refused})
		assert.Zero(t, got[0].Message, "nothing of it is believed")
		other := m
		other.Peer.Group = nodeC
		assert.Empty(t, say(other, nodeC), "another group's is nobody's business here")

		ttl = 254
		got = say(m, nodeA)
		require.Len(t, got, 1)
		assert.Equal(t, []any{nodeA, RejectTTL, 254}, []any{got[0].Source, got[0].Refused, got[0].TTL})
		assert.Equal(t, map[Reason]uint64{RejectPeer: 2, RejectTTL: 1}, w.Rejected())

		w.Close()
		w = h.Join(group, []netip.Addr{nodeA, nodeB}, 254)
		got = say(m, nodeA)
		require.Len(t, got, 1)
		assert.Empty(t, got[0].Refused, "vrrp.minTTL counts for members' messages, too")
		assert.Equal(t, m.Peer.Node, got[0].Message.Peer.Node)
	})
}
