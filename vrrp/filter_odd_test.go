package vrrp

import (
	"net/netip"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// With peers, some of what is refused for its source or its TTL is let in, and nothing of another VRID or form.
func TestFilterLetsInSomeOfWhatItsPeersDoNotSend(t *testing.T) {
	f := filter{source: node1, minTTL: 255, peers: []netip.Addr{node2}, vrids: []uint8{51}, odd: true}
	_, err := f.assemble()
	require.NoError(t, err)
	stranger := addr("10.9.0.14")
	for _, tt := range []struct {
		name    string
		packet  []byte
		drawn   bool // if it is one of those
		without bool // if it is not
	}{
		{"a peer", packet4(node2, node1, 255, 0, advert4(t, 3, 51)), true, true},
		{"a stranger", packet4(stranger, node1, 255, 0, advert4(t, 3, 51)), true, false},
		{"a peer from too far", packet4(node2, node1, 254, 0, advert4(t, 3, 51)), true, false},
		{"another VRID", packet4(stranger, node1, 255, 0, advert4(t, 3, 52)), false, false},
		{"a stranger that says nothing", packet4(stranger, node1, 255, 0, nil), false, false},
		{"ourselves", packet4(node1, node1, 255, 0, advert4(t, 3, 51)), false, false},
	} {
		for random, want := range map[uint32]bool{0: tt.drawn, 2 * oddOneIn: tt.drawn, 1: tt.without, oddOneIn - 1: tt.without} {
			assert.Equal(t, want, passesIfDrawn(t, f, layout{}, tt.packet, random), "%s, %d", tt.name, random)
		}
	}
}
