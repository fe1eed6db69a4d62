package virtualrouter

import (
	"net/netip"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/keepvip/keepvip/vrrp"
)

// The kernel's lease is renewed by what leaves on the link: while the MAC of a peer is not known, that is a packet for nobody.
func TestHubUnicastPassesTheLinkWhileAPeerIsNotKnown(t *testing.T) {
	for _, tt := range []struct {
		name             string
		peers            []netip.Addr
		unknown, refused []netip.Addr
		want             int
	}{
		{"all are known", []netip.Addr{nodeA, nodeB, nodeC}, nil, nil, 0},
		{"nobody is", []netip.Addr{nodeA, nodeB, nodeC}, []netip.Addr{nodeB, nodeC}, nil, 1},
		{"one is not", []netip.Addr{nodeA, nodeB, nodeC}, []netip.Addr{nodeC}, nil, 1},
		{"all are refused", []netip.Addr{nodeA, nodeB, nodeC}, []netip.Addr{nodeB, nodeC}, []netip.Addr{nodeB, nodeC}, 0},
		{"multicast", nil, nil, nil, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := newFakeSocket()
			s.unknown, s.refused = tt.unknown, tt.refused
			h := NewHub(HubConfig{Source: nodeA, Log: quiet}, s)
			cfg := wireConfig()
			cfg.Peers = tt.peers
			w, err := h.Join(cfg)
			require.NoError(t, err)
			err = w.Send(vrrp.Advertisement{Version: 3, VRID: 51, Priority: 100, Interval: interval, Addresses: []netip.Addr{vip}})
			assert.Equal(t, len(tt.refused) > 0, err != nil)
			assert.Equal(t, tt.want, s.onLink)
			require.NoError(t, h.Close())
		})
	}
}
