package virtualrouter

import (
	"net/netip"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/keepvip/keepvip/internal/base/bubble"
	"github.com/keepvip/keepvip/vrrp"
)

// The kernel's lease is renewed by the packet for nobody that follows what has left to a peer, or that has nobody else to go to.
func TestHubUnicastPassesTheLinkBehindEachAdvertisement(t *testing.T) {
	for _, tt := range []struct {
		name    string
		peers   []netip.Addr
		refused []netip.Addr
		noLink  error
		want    int
		err     bool
	}{
		{"all are reached", []netip.Addr{nodeA, nodeB, nodeC}, nil, nil, 1, false},
		{"one is refused", []netip.Addr{nodeA, nodeB, nodeC}, []netip.Addr{nodeC}, nil, 1, false},
		{"all are refused", []netip.Addr{nodeA, nodeB, nodeC}, []netip.Addr{nodeB, nodeC}, nil, 0, true},
		{"itself alone", []netip.Addr{nodeA}, nil, nil, 1, false},
		{"the link refuses it", []netip.Addr{nodeA, nodeB}, nil, errRefused, 1, true},
		{"multicast", nil, nil, nil, 0, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			bubble.Test(t, func(t *testing.T) {
				s := newFakeSocket()
				s.refused, s.noLink = tt.refused, tt.noLink
				h := NewHub(s, vrrp.ConnConfig{Source: nodeA}, nil, quiet)
				cfg := wireConfig()
				cfg.Peers = tt.peers
				w, err := h.Join(cfg, quiet)
				require.NoError(t, err)
				err = w.Send(vrrp.Advertisement{Version: 3, VRID: 51, Priority: 100, Interval: interval, Addresses: slices.Repeat([]netip.Addr{vip}, 250)})
				assert.Equal(t, tt.err, err != nil)
				assert.Equal(t, tt.want, s.onLink)
				assert.LessOrEqual(t, s.longest, 100, "no link's MTU is shorter")
				require.NoError(t, h.Close())
			})
		})
	}
}

// What the peers heard before a process stood still may be long over when it goes on: another one may be the holder. It is not after less than an
// interval, and then a new advertisement renews the lease: a new holder must not wait for the next one to be heard.
func TestHubUnicastAdvertisesAgainAfterAStandstill(t *testing.T) {
	const short, long = 20 * time.Millisecond, 2 * interval
	for _, tt := range []struct {
		name         string
		stalls       []time.Duration
		priority     uint8
		sent, onLink int
	}{
		{"none that counts", []time.Duration{jiffy / 2}, 100, 1, 1},
		{"a short one", []time.Duration{short}, 100, 2, 1},
		{"a long one", []time.Duration{long}, 100, 1, 0},
		{"a short one and a long one", []time.Duration{short, long}, 100, 2, 0},
		{"short ones", []time.Duration{short, short, short, short}, 100, mostTries, 0},
		{"at the end of the term", []time.Duration{short}, 0, 1, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			bubble.Test(t, func(t *testing.T) {
				s := newFakeSocket()
				s.stalls = tt.stalls
				h := NewHub(s, vrrp.ConnConfig{Source: nodeA}, nil, quiet)
				cfg := wireConfig()
				cfg.Peers = []netip.Addr{nodeB}
				w, err := h.Join(cfg, quiet)
				require.NoError(t, err)
				require.NoError(t, w.Send(vrrp.Advertisement{Version: 3, VRID: 51, Priority: tt.priority, Interval: interval, Addresses: []netip.Addr{vip}}))
				assert.Len(t, s.sent, tt.sent)
				assert.Equal(t, tt.onLink, s.onLink)
				require.NoError(t, h.Close())
			})
		})
	}
}
