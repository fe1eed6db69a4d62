package spreadtables

import (
	"encoding/binary"
	"net/netip"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// masqueraded is three, with the holder translating.
func masqueraded() Config {
	c := three(2)
	c.Masquerade = true
	for i := range c.Members {
		c.Members[i].Sources = c.Self
	}
	return c
}

func TestRenderMasquerade(t *testing.T) {
	c := masqueraded()
	c.Members[1].Addresses = c.Members[1].Addresses[:1] // no IPv6
	c.Members[2].Sources = c.Self[1:]                   // not reached by IPv4
	c.Members[2].Target = 7443
	tables := c.render(all)
	require.Len(t, tables, 2)
	assert.Equal(t, slotsOf(0, 1, 3, 4, 6, 7, 9, 10), keys(elementsOf(t, tables, unix.NFPROTO_IPV4, "owners")), "what nobody gets is the holder's")
	assert.Equal(t, slotsOf(0, 2, 3, 5, 6, 8, 9, 11), keys(elementsOf(t, tables, unix.NFPROTO_IPV6, "owners")))
	assert.Len(t, elementsOf(t, tables, unix.NFPROTO_IPV4, "sources"), 1, "this node's own connections keep their source")
	var targets []uint16
	for _, e := range elementsOf(t, tables, unix.NFPROTO_IPV6, "targets") {
		targets = append(targets, binary.BigEndian.Uint16([]byte(e.Data)))
	}
	assert.Equal(t, []uint16{6443, 5353}, targets[:2])
	assert.Equal(t, []uint16{7443, 7443}, targets[2:])
}

func TestOutOfWindowIsAWholePacket(t *testing.T) {
	for _, tt := range []struct{ from, to string }{{"10.1.0.100:9443", "10.1.0.9:40001"}, {"[fd01::100]:9443", "[fd01::9]:40001"}} {
		from, to := netip.MustParseAddrPort(tt.from), netip.MustParseAddrPort(tt.to)
		p := outOfWindow(from, to, 0x01020304)
		at := len(p) - 20
		segment := p[at:]
		assert.Equal(t, []byte{0x24, 0xe3, 0x9c, 0x41, 1, 2, 3, 4}, segment[:8])
		assert.Equal(t, byte(0x11), segment[13], "FIN and ACK")
		sum := uint32(unix.IPPROTO_TCP + 20)
		for i := at - 2*len(from.Addr().AsSlice()); i < len(p); i += 2 {
			sum += uint32(binary.BigEndian.Uint16(p[i:]))
		}
		assert.Equal(t, uint32(0xffff), sum>>16+sum&0xffff, "%s: the checksum", tt.from)
	}
}
