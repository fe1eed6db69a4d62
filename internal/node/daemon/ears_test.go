package daemon

import (
	"net"
	"net/netip"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/keepvip/keepvip/arp"
)

func TestIsHost(t *testing.T) {
	a := netip.MustParseAddr("10.77.0.101")
	own, virtual := net.HardwareAddr{2, 0, 0, 0, 0, 1}, net.HardwareAddr{0x00, 0x00, 0x5e, 0x00, 0x01, 51}
	assert.True(t, isHost(arp.Claim{Addr: a, MAC: own}, nil))
	assert.False(t, isHost(arp.Claim{Addr: a, MAC: virtual}, nil), "whichever node is the Active of VRID 51")
	assert.True(t, isHost(arp.Claim{Addr: a, MAC: virtual}, []netip.Addr{a}), "the link's router")
}
