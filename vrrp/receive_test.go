//go:build linux

package vrrp

import (
	"encoding/binary"
	"net"
	"net/netip"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"golang.org/x/sys/unix"
)

func TestDatagramTakesTheHeaderOff(t *testing.T) {
	payload := []byte("message")
	want := Datagram{Source: node2, Destination: group4, TTL: 255, Payload: payload}

	got, ok := datagram4(packet4(node2, group4, 255, 0, payload))
	assert.True(t, ok)
	assert.Equal(t, want, got)

	got, ok = datagram4(packet4(node2, group4, 255, 10, payload))
	assert.True(t, ok, "with 40 bytes of options")
	assert.Equal(t, want, got)

	got, ok = datagram4(append(packet4(node2, group4, 255, 0, payload), 0, 0, 0))
	assert.True(t, ok, "with padding behind the total length")
	assert.Equal(t, want, got)
}

func TestDatagramRefusesBrokenHeaders(t *testing.T) {
	for name, change := range map[string]func(b []byte) []byte{
		"empty":                     func([]byte) []byte { return nil },
		"19 bytes":                  func(b []byte) []byte { return b[:19] },
		"version 6":                 func(b []byte) []byte { b[0] = 0x65; return b },
		"header of 16 bytes":        func(b []byte) []byte { b[0] = 0x44; return b },
		"header beyond the packet":  func(b []byte) []byte { b[0] = 0x4f; return b },
		"total beyond the packet":   func(b []byte) []byte { b[3]++; return b },
		"total within the header":   func(b []byte) []byte { b[3] = 19; return b },
		"total of 65535, cut short": func(b []byte) []byte { b[2], b[3] = 255, 255; return b },
	} {
		_, ok := datagram4(change(packet4(node2, group4, 255, 0, []byte("message"))))
		assert.False(t, ok, name)
	}
}

// A packet may have been in the queue before the filter was.
func TestPacketThatARouterHasPassedOnIsNotDelivered(t *testing.T) {
	message4 := func(ttl uint8) message { return message{packet: packet4(node2, group4, ttl, 0, []byte("message"))} }
	message6 := func(ttl uint8) message {
		hops := controlMessage(unix.IPPROTO_IPV6, unix.IPV6_HOPLIMIT, binary.NativeEndian.AppendUint32(nil, uint32(ttl)))
		return message{packet: []byte("message"), oob: hops, source: addr("fe80::2").As16()}
	}
	for _, tt := range []struct {
		name       string
		source     netip.Addr
		message    func(ttl uint8) message
		least, ttl uint8
		want       int
	}{
		{"IPv4", node1, message4, 255, 255, 1},
		{"IPv4, by a router", node1, message4, 255, 254, 0},
		{"IPv4, by as many routers as may be", node1, message4, 253, 253, 1},
		{"IPv4, by one more", node1, message4, 253, 252, 0},
		{"IPv6", addr("fe80::1"), message6, 255, 255, 1},
		{"IPv6, by a router", addr("fe80::1"), message6, 255, 254, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := 0
			(&Conn{filter: filter{source: tt.source, minTTL: tt.least}}).deliver(tt.message(tt.ttl), time.Now(), func(Datagram) { got++ })
			assert.Equal(t, tt.want, got)
		})
	}
}

func FuzzDatagram(f *testing.F) {
	f.Add(packet4(node2, group4, 255, 0, []byte("message")))
	f.Add([]byte{0x4f, 0, 0, 0})
	f.Fuzz(func(t *testing.T, b []byte) {
		if d, ok := datagram4(b); ok {
			assert.LessOrEqual(t, len(d.Payload), len(b)-20)
		}
	})
}

func controlMessage(level, typ int32, data []byte) []byte {
	b := make([]byte, unix.CmsgSpace(len(data)))
	binary.NativeEndian.PutUint64(b, uint64(unix.CmsgLen(len(data))))
	binary.NativeEndian.PutUint32(b[8:], uint32(level))
	binary.NativeEndian.PutUint32(b[12:], uint32(typ))
	copy(b[unix.CmsgLen(0):], data)
	return b
}

func TestParseControl(t *testing.T) {
	timestamp := binary.NativeEndian.AppendUint64(binary.NativeEndian.AppendUint64(nil, 1700000000), 42)
	info := append(group6.AsSlice(), 7, 0, 0, 0)
	oob := controlMessage(unix.SOL_SOCKET, unix.SCM_TIMESTAMPNS, timestamp)
	oob = append(oob, controlMessage(unix.IPPROTO_IPV6, unix.IPV6_HOPLIMIT, binary.NativeEndian.AppendUint32(nil, 255))...)
	oob = append(oob, controlMessage(unix.IPPROTO_IPV6, unix.IPV6_PKTINFO, info)...)

	want := ancillary{received: time.Unix(1700000000, 42), hopLimit: 255, destination: group6}
	assert.Equal(t, want, parseControl(oob))
	for n := range oob {
		parseControl(oob[:n]) // cut anywhere, it must not panic
	}
	assert.Equal(t, ancillary{}, parseControl(controlMessage(unix.SOL_SOCKET, unix.SCM_TIMESTAMPNS, timestamp[:8])))
}

func TestConnConfigValidate(t *testing.T) {
	valid := ConnConfig{Interface: net.Interface{Name: "eth0", Index: 2}, Source: node1, Peers: []netip.Addr{node1, node2}}
	assert.NoError(t, valid.Validate())
	for want, change := range map[string]func(*ConnConfig){
		`interface "eth0" with index 0`: func(c *ConnConfig) { c.Interface.Index = 0 },
		`interface "" with index 2`:     func(c *ConnConfig) { c.Interface.Name = "" },
		"source invalid IP":             func(c *ConnConfig) { c.Source = netip.Addr{} },
		"source 224.0.0.18":             func(c *ConnConfig) { c.Source = group4 },
		"source ::ffff:10.9.0.11":       func(c *ConnConfig) { c.Source = netip.AddrFrom16(node1.As16()) },
		"peer fe80::1":                  func(c *ConnConfig) { c.Peers = []netip.Addr{node2, addr("fe80::1")} },
		"256 peers":                     func(c *ConnConfig) { c.Peers = make([]netip.Addr, 256) },
	} {
		c := valid
		change(&c)
		assert.ErrorContains(t, c.Validate(), want)
		_, err := Open(c)
		assert.ErrorContains(t, err, want)
	}
}
