package vrrp

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"net/netip"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/net/bpf"
)

// packet4 wraps a payload into an IPv4 header with the given number of option words.
func packet4(src, dst netip.Addr, ttl uint8, options int, payload []byte) []byte {
	header := 20 + 4*options
	b := make([]byte, header, header+len(payload))
	b[0], b[1], b[8], b[9] = 4<<4|uint8(header/4), tosControl, ttl, protocolNumber
	binary.BigEndian.PutUint16(b[2:], uint16(header+len(payload)))
	copy(b[12:], src.AsSlice())
	copy(b[16:], dst.AsSlice())
	return append(b, payload...)
}

func packet6(src, dst netip.Addr, hops uint8, payload []byte) []byte {
	b := make([]byte, 40, 40+len(payload))
	b[0], b[6], b[7] = 6<<4, protocolNumber, hops
	binary.BigEndian.PutUint16(b[4:], uint16(len(payload)))
	copy(b[8:], src.AsSlice())
	copy(b[24:], dst.AsSlice())
	return append(b, payload...)
}

// passes runs the filter in the BPF virtual machine, over a packet from the IP header on.
func passes(t *testing.T, f filter, packet []byte) bool {
	t.Helper()
	return passesIfDrawn(t, f, layout{payload: 40}, packet, 1)
}

// passesIfDrawn is the same where the kernel draws that number: the machine of the test draws nothing.
func passesIfDrawn(t *testing.T, f filter, at layout, packet []byte, random uint32) bool {
	t.Helper()
	code := f.program(at)
	for i, in := range code {
		if _, draws := in.(bpf.LoadExtension); draws {
			code[i] = bpf.LoadConstant{Dst: bpf.RegA, Val: random}
		}
	}
	vm, err := bpf.NewVM(code)
	require.NoError(t, err)
	n, err := vm.Run(packet)
	require.NoError(t, err)
	return n > 0
}

func advert4(t *testing.T, version, vrid uint8) []byte {
	t.Helper()
	a := Advertisement{Version: version, VRID: vrid, Priority: 100, Interval: time.Second, Addresses: []netip.Addr{vip}}
	b, err := a.Append(nil, node2, group4, PseudoHeader)
	require.NoError(t, err)
	return b
}

// bare is an advertisement without addresses.
func bare(t *testing.T, version uint8, src, dst netip.Addr) []byte {
	t.Helper()
	b, err := Advertisement{Version: version, VRID: 51, Priority: 100, Interval: time.Second}.Append(nil, src, dst, PseudoHeader)
	require.NoError(t, err)
	return b
}

func TestFilterIPv4(t *testing.T) {
	open := filter{source: node1, minTTL: 255}
	ours := filter{source: node1, minTTL: 255, vrids: []uint8{51, 200}}
	peers := filter{source: node1, minTTL: 255, peers: []netip.Addr{node1, addr("10.9.0.13"), node2}}
	routed := filter{source: node1, minTTL: 250, peers: []netip.Addr{node2}}
	v3 := advert4(t, 3, 51)
	full, err := Advertisement{
		Version: 3, VRID: 51, Priority: 100, Interval: time.Second, Addresses: slices.Repeat([]netip.Addr{vip}, 255),
	}.Append(nil, node2, group4, PseudoHeader)
	require.NoError(t, err)
	bare2, bare3 := bare(t, 2, node2, group4), bare(t, 3, node2, group4)
	mutate := func(f func(b []byte)) []byte {
		b := packet4(node2, group4, 255, 0, v3)
		f(b)
		return b
	}
	tests := []struct {
		name   string
		filter filter
		packet []byte
		want   bool
	}{
		{"v3", open, packet4(node2, group4, 255, 0, v3), true},
		{"v2", open, packet4(node2, group4, 255, 0, advert4(t, 2, 51)), true},
		{"v3 behind header options", open, packet4(node2, group4, 255, 3, v3), true},
		{"unicast", open, packet4(node2, node1, 255, 0, v3), true},
		{"TTL 254", open, packet4(node2, group4, 254, 0, v3), false},
		{"TTL 1", open, packet4(node2, group4, 1, 0, v3), false},
		{"our own", open, packet4(node1, group4, 255, 0, v3), false},
		{"first fragment", open, mutate(func(b []byte) { b[6] = 0x20 }), false},
		{"later fragment", open, mutate(func(b []byte) { b[7] = 1 }), false},
		{"do not fragment", open, mutate(func(b []byte) { b[6] = 0x40 }), true},
		{"version 4", open, mutate(func(b []byte) { b[20] = 0x41 }), false},
		{"version 1", open, mutate(func(b []byte) { b[20] = 0x11 }), false},
		{"type 2", open, mutate(func(b []byte) { b[20] = 0x32 }), false},
		{"one byte short of an address", open, packet4(node2, group4, 255, 0, v3[:11]), false},
		{"one byte long", open, packet4(node2, group4, 255, 0, append(bytes.Clone(v3), 0)), false},
		{"one byte long behind options", open, packet4(node2, group4, 255, 3, append(bytes.Clone(v3), 0)), false},
		{"with an authentication trailer", open, packet4(node2, group4, 255, 0, append(bytes.Clone(v3), make([]byte, trailerLen)...)), true},
		{"v2 without its trailer", open, packet4(node2, group4, 255, 0, advert4(t, 2, 51)[:12]), false},
		{"v2 with an authentication trailer", open, packet4(node2, group4, 255, 1, append(advert4(t, 2, 51), make([]byte, trailerLen)...)), true},
		{"no address", open, packet4(node2, group4, 255, 0, bare3), true},
		{"no address, v2", open, packet4(node2, group4, 255, 0, bare2), true},
		{"no address behind header options", open, packet4(node2, group4, 255, 3, bare3), true},
		{"no address, with an authentication trailer", open, packet4(node2, group4, 255, 0, append(bytes.Clone(bare3), make([]byte, trailerLen)...)), true},
		{"no address, v2 without its trailer", open, packet4(node2, group4, 255, 0, bare2[:headerLen]), false},
		{"no address, one byte short", open, packet4(node2, group4, 255, 0, bare3[:headerLen-1]), false},
		{"no address, one byte long", open, packet4(node2, group4, 255, 0, append(bytes.Clone(bare3), 0)), false},
		{"an address behind a count of 0", open, mutate(func(b []byte) { b[23] = 0 }), false},
		{"more addresses than the packet has", open, mutate(func(b []byte) { b[23] = 2 }), false},
		{"255 addresses", open, packet4(node2, group4, 255, 0, full), true},
		{"no payload", open, packet4(node2, group4, 255, 0, nil), false},
		{"nothing", open, nil, false},
		{"a wanted VRID", ours, packet4(node2, group4, 255, 0, v3), true},
		{"a wanted VRID behind options", ours, packet4(node2, group4, 255, 2, advert4(t, 3, 200)), true},
		{"another VRID", ours, packet4(node2, group4, 255, 0, advert4(t, 3, 52)), false},
		{"no VRID wanted", filter{source: node1, minTTL: 255, vrids: []uint8{}}, packet4(node2, group4, 255, 0, v3), false},
		{"its group", filter{source: node1, minTTL: 255, group: addr("224.0.0.19")}, packet4(node2, addr("224.0.0.19"), 255, 0, v3), true},
		{"the usual group, and not its own", filter{source: node1, minTTL: 255, group: addr("224.0.0.19")}, packet4(node2, group4, 255, 0, v3), false},
		{"a peer", peers, packet4(node2, node1, 255, 0, v3), true},
		{"a peer in the middle", peers, packet4(addr("10.9.0.13"), node1, 255, 0, v3), true},
		{"ourselves among the peers", peers, packet4(node1, node1, 255, 0, v3), false},
		{"a stranger", peers, packet4(addr("10.9.0.14"), node1, 255, 0, v3), false},
		{"a routed peer", routed, packet4(node2, node1, 250, 0, v3), true},
		{"a peer from too far", routed, packet4(node2, node1, 249, 0, v3), false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) { assert.Equal(t, tt.want, passes(t, tt.filter, tt.packet)) })
	}
}

func TestFilterIPv6(t *testing.T) {
	self, peer, stranger := addr("fe80::1"), addr("fe80::2"), addr("fe80::3:2")
	v6 := Advertisement{Version: 3, VRID: 51, Priority: 100, Interval: time.Second, Addresses: []netip.Addr{addr("fd09::100")}}
	payload, err := v6.Append(nil, peer, group6, PseudoHeader)
	require.NoError(t, err)
	bare3 := bare(t, 3, peer, group6)
	open := filter{source: self, minTTL: 255}
	peers := filter{source: self, minTTL: 255, peers: []netip.Addr{addr("fe80::9"), peer}}
	mutate := func(f func(b []byte)) []byte {
		b := packet6(peer, group6, 255, payload)
		f(b)
		return b
	}
	tests := []struct {
		name   string
		filter filter
		packet []byte
		want   bool
	}{
		{"v3", open, packet6(peer, group6, 255, payload), true},
		{"hop limit 254", open, packet6(peer, group6, 254, payload), false},
		{"our own", open, packet6(self, group6, 255, payload), false},
		{"version 2", open, mutate(func(b []byte) { b[40] = 0x21 }), false},
		{"extension header", open, mutate(func(b []byte) { b[6] = 44 }), false},
		{"one byte long", open, packet6(peer, group6, 255, append(bytes.Clone(payload), 0)), false},
		{"with an authentication trailer", open, packet6(peer, group6, 255, append(bytes.Clone(payload), make([]byte, trailerLen)...)), true},
		{"no address", open, packet6(peer, group6, 255, bare3), true},
		{"no address, with an authentication trailer", open, packet6(peer, group6, 255, append(bytes.Clone(bare3), make([]byte, trailerLen)...)), true},
		{"no address, one byte short", open, packet6(peer, group6, 255, bare3[:headerLen-1]), false},
		{"an address behind a count of 0", open, mutate(func(b []byte) { b[43] = 0 }), false},
		{"one byte short of an address", open, packet6(peer, group6, 255, payload[:23]), false},
		{"a wanted VRID", filter{source: self, minTTL: 255, vrids: []uint8{51}}, packet6(peer, group6, 255, payload), true},
		{"another VRID", filter{source: self, minTTL: 255, vrids: []uint8{50, 52}}, packet6(peer, group6, 255, payload), false},
		{"its group", filter{source: self, minTTL: 255, group: addr("ff02::13")}, packet6(peer, addr("ff02::13"), 255, payload), true},
		{"the usual group, and not its own", filter{source: self, minTTL: 255, group: addr("ff02::13")}, packet6(peer, group6, 255, payload), false},
		{"the usual group by default", newFilter(ConnConfig{Source: self}), packet6(peer, group6, 255, payload), true},
		{"another group by default", newFilter(ConnConfig{Source: self}), packet6(peer, addr("ff02::13"), 255, payload), false},
		{"to the node itself by default", newFilter(ConnConfig{Source: self}), packet6(peer, self, 255, payload), true},
		{"a wanted VRID in the usual group", newFilter(ConnConfig{Source: self, VRIDs: []uint8{51}}), packet6(peer, group6, 255, payload), true},
		{"another VRID in the usual group", newFilter(ConnConfig{Source: self, VRIDs: []uint8{52}}), packet6(peer, group6, 255, payload), false},
		{"a peer to any group", newFilter(ConnConfig{Source: self, Peers: []netip.Addr{peer}}), packet6(peer, group6, 255, payload), true},
		{"a peer", peers, packet6(peer, self, 255, payload), true},
		{"a stranger that differs in one word", peers, packet6(stranger, self, 255, payload), false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) { assert.Equal(t, tt.want, passes(t, tt.filter, tt.packet)) })
	}
}

func TestFilterWantingAnotherSet(t *testing.T) {
	before := filter{source: node1, minTTL: 255, vrids: []uint8{51}, peers: []netip.Addr{node2}}
	packet := packet4(addr("10.9.0.13"), node1, 255, 0, advert4(t, 3, 52))
	assert.False(t, passes(t, before, packet))
	assert.True(t, passes(t, before.wanting([]uint8{51, 52}, []netip.Addr{node2, addr("10.9.0.13")}), packet), "another wire's peer")
	assert.False(t, passes(t, before.wanting([]uint8{51, 52}, []netip.Addr{node2}), packet))
	assert.True(t, passes(t, before.wanting(nil, nil), packet), "any source")
	assert.True(t, passes(t, before.wanting(nil, make([]netip.Addr, maxAddrs+1)), packet), "more peers than a program has room for")
	assert.Equal(t, []uint8{51}, before.vrids)
}

func TestFilterVRIDBitmap(t *testing.T) {
	for _, want := range []uint8{1, 31, 32, 63, 64, 127, 128, 224, 254, 255} {
		f := filter{source: node1, minTTL: 255, vrids: []uint8{want}}
		vm, err := bpf.NewVM(f.program(layout{}))
		require.NoError(t, err)
		for vrid := 1; vrid <= 255; vrid++ {
			n, err := vm.Run(packet4(node2, group4, 255, 0, advert4(t, 3, uint8(vrid))))
			require.NoError(t, err)
			assert.Equal(t, vrid == int(want), n > 0, "VRID %d with %d wanted", vrid, want)
		}
	}
}

func TestFilterAssemblesForTheKernel(t *testing.T) {
	all := make([]uint8, 255)
	for i := range all {
		all[i] = uint8(i + 1)
	}
	for _, source := range []string{"10.9.0.11", "fe80::1"} {
		var peers []netip.Addr
		for i := range maxAddrs {
			peer := fmt.Sprintf("10.9.1.%d", i)
			if source == "fe80::1" {
				peer = fmt.Sprintf("fe80::1:%x", i)
			}
			peers = append(peers, addr(peer))
		}
		raw, err := filter{source: addr(source), peers: peers, vrids: all, minTTL: 255}.assemble()
		require.NoError(t, err)
		assert.LessOrEqual(t, len(raw), 4096, "BPF_MAXINSNS")
	}
	assert.Equal(t, uint32(0xfff00007), kernelLayout(6).network+7, "SKF_NET_OFF + 7")
}
