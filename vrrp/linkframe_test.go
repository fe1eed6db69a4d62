//go:build linux

package vrrp

import (
	"encoding/binary"
	"net"
	"net/netip"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/keepvip/keepvip/internal/base/checksum"
)

func TestLinkPacketIsFromSourceToSource(t *testing.T) {
	payload := []byte{0x31, 51, 100, 1}
	four := &Conn{filter: filter{source: netip.MustParseAddr("10.77.0.11")}}
	b, protocol := four.packet(payload, four.filter.source)
	assert.Equal(t, []byte{
		0x45, 0xc0, 0, 24, 0, 0, 0, 0, 255, 112, 0xa6, 0x06, 10, 77, 0, 11, 10, 77, 0, 11, 0x31, 51, 100, 1,
	}, b)
	assert.Equal(t, uint16(0xffff), checksum.Fold(checksum.Add(0, b[:ipv4Header])), "RFC 791, section 3.1")
	assert.Equal(t, uint16(0x0800), binary.BigEndian.Uint16(binary.NativeEndian.AppendUint16(nil, protocol)))

	six := &Conn{filter: filter{source: netip.MustParseAddr("fd77::11")}}
	b, protocol = six.packet(payload, six.filter.source)
	assert.Equal(t, []byte{0x6c, 0, 0, 0, 0, 4, 112, 255}, b[:8])
	assert.Equal(t, six.filter.source.AsSlice(), b[8:24])
	assert.Equal(t, six.filter.source.AsSlice(), b[24:40])
	assert.Equal(t, payload, b[40:])
	assert.Equal(t, uint16(0x86dd), binary.BigEndian.Uint16(binary.NativeEndian.AppendUint16(nil, protocol)))
}

func TestGroupsMACIsThatOfTheirFamily(t *testing.T) {
	for group, mac := range map[string]string{"224.0.0.18": "01:00:5e:00:00:12", "239.129.2.3": "01:00:5e:01:02:03", "ff02::12": "33:33:00:00:00:12"} {
		assert.Equal(t, mac, net.HardwareAddr(groupMAC(netip.MustParseAddr(group))).String())
	}
}
