package virtualrouter

import (
	"net/netip"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

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
			synctest.Test(t, func(t *testing.T) {
				s := newFakeSocket()
				s.refused, s.noLink = tt.refused, tt.noLink
				h := NewHub(HubConfig{Source: nodeA, Log: quiet}, s)
				cfg := wireConfig()
				cfg.Peers = tt.peers
				w, err := h.Join(cfg)
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

// What the peers heard before a process stood still may be long over when it goes on: another one may be the holder.
func TestHubUnicastPassesNothingAfterAStandstill(t *testing.T) {
	for stalls, want := range map[time.Duration]int{5 * time.Millisecond: 1, 20 * time.Millisecond: 0} {
		synctest.Test(t, func(t *testing.T) {
			s := newFakeSocket()
			s.stalls = stalls
			h := NewHub(HubConfig{Source: nodeA, Log: quiet}, s)
			cfg := wireConfig()
			cfg.Peers = []netip.Addr{nodeB}
			w, err := h.Join(cfg)
			require.NoError(t, err)
			require.NoError(t, w.Send(vrrp.Advertisement{Version: 3, VRID: 51, Priority: 100, Interval: interval, Addresses: []netip.Addr{vip}}))
			assert.Equal(t, want, s.onLink, stalls)
			require.NoError(t, h.Close())
		})
	}
}
