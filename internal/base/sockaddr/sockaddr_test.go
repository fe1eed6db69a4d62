package sockaddr

import (
	"encoding/binary"
	"net/netip"
	"testing"

	"github.com/stretchr/testify/assert"
	"golang.org/x/sys/unix"
)

func TestOf(t *testing.T) {
	of := func(a string) unix.Sockaddr { return Of(netip.MustParseAddr(a), 9646, 7) }
	assert.Equal(t, &unix.SockaddrInet4{Addr: [4]byte{10, 77, 0, 1}, Port: 9646}, of("10.77.0.1"))
	for a, zone := range map[string]uint32{"fd77::1": 0, "fe80::1": 7, "fe80::1%eth0": 7, "ff02::12": 7} {
		assert.Equal(t, &unix.SockaddrInet6{Addr: netip.MustParseAddr(a).As16(), Port: 9646, ZoneId: zone}, of(a), a)
	}
}

func TestNetworkOrder(t *testing.T) {
	assert.Equal(t, []byte{0x25, 0xae}, binary.NativeEndian.AppendUint16(nil, NetworkOrder(9646)))
	assert.Equal(t, uint16(9646), NetworkOrder(NetworkOrder(9646)))
}
