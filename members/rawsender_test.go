package members

import (
	"net/netip"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestAppendUDP(t *testing.T) {
	a, b := netip.MustParseAddr("10.77.0.11"), netip.MustParseAddr("10.77.0.12")
	assert.Equal(t, []byte{0, 18, 0x25, 0xae, 0, 11, 0x3b, 0xfe, 'h', 'i', '!'}, appendUDP(nil, a, b, defaultPort, []byte("hi!")))
	for _, pair := range [][2]string{{"10.77.0.11", "224.0.0.18"}, {"fd77::11", "ff02::12"}, {"fe80::1", "fe80::2"}} {
		source, to := netip.MustParseAddr(pair[0]), netip.MustParseAddr(pair[1])
		for _, content := range []string{"", "odd", "even", "\xff\xff\xff\xff"} {
			d := appendUDP([]byte("before"), source, to, 1, []byte(content))[len("before"):]
			sum := uint32(17+len(d)) + sum16(source.AsSlice()) + sum16(to.AsSlice()) + sum16(d)
			for sum > 0xffff {
				sum = sum>>16 + sum&0xffff
			}
			assert.Equal(t, uint32(0xffff), sum, "%v %q: with its checksum a datagram adds up to all ones", pair, content)
			assert.NotEqual(t, []byte{0, 0}, d[6:8])
		}
	}
}
