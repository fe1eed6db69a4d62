package vrrp

import (
	"net/netip"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/keepvip/keepvip/internal/base/checksum"
)

// resum makes the checksum right again after a change, so that the check behind it is reached.
func resum(b []byte) []byte {
	b[6], b[7] = 0, 0
	c := ^checksum.Fold(checksum.Add(0, b))
	b[6], b[7] = uint8(c>>8), uint8(c)
	return b
}

func TestParseRefuses(t *testing.T) {
	v2, v3 := "213364010001705d0a0900640000000000000000", "3133640100645ffa0a090064"
	self6 := addr("fe80::1")
	set := func(hex string, at int, value byte) []byte {
		b := unhex(t, hex)
		b[at] = value
		return resum(b)
	}
	tests := []struct {
		name     string
		b        []byte
		src, dst netip.Addr
		want     string // PacketError.Reason
		message  string
	}{
		{"empty", nil, node1, group4, RejectLength, "vrrp: length 0, want 8"},
		{"7 bytes", unhex(t, v3)[:7], node1, group4, RejectLength, "vrrp: length 7, want 8"},
		{"header alone", unhex(t, v3)[:8], node1, group4, RejectLength, "vrrp: length 8, want 12"},
		{"one byte short", unhex(t, v3)[:11], node1, group4, RejectLength, "vrrp: length 11, want 12"},
		{"one byte long", append(unhex(t, v3), 0), node1, group4, RejectLength, "vrrp: length 13, want 12"},
		{"1000 bytes", make([]byte, 1000), node1, group4, RejectVersion, "vrrp: version 0, want 3"},
		{"v2 without its trailer", unhex(t, v2)[:12], node1, group4, RejectLength, "vrrp: length 12, want 20"},
		{"more addresses than the packet has", set(v3, 3, 2), node1, group4, RejectLength, "vrrp: length 12, want 16"},
		{"255 addresses in a packet of one", set(v3, 3, 255), node1, group4, RejectLength, "vrrp: length 12, want 1028"},
		{"version 4", set(v3, 0, 0x41), node1, group4, RejectVersion, "vrrp: version 4, want 3"},
		{"version 2 over IPv6", unhex(t, v2), self6, group6, RejectVersion, "vrrp: version 2, want 3"},
		{"type 2", set(v3, 0, 0x32), node1, group4, RejectType, "vrrp: type 2, want 1"},
		{"no address by its count", set(v3, 3, 0), node1, group4, RejectLength, "vrrp: length 12, want 8"},
		{"VRID 0", set(v3, 1, 0), node1, group4, RejectVRID, "vrrp: VRID 0, want 1 to 255"},
		{"v3 interval 0", set(v3, 5, 0), node1, group4, RejectInterval, "vrrp: advertisement interval 0, want at least 1"},
		{"v2 interval 0", set(v2, 5, 0), node1, group4, RejectInterval, "vrrp: advertisement interval 0, want at least 1"},
		{"v2 authentication header", set(v2, 4, 2), node1, group4, RejectAuth, "vrrp: authentication type 2, want 0"},
		{"wrong checksum", append(unhex(t, v3)[:11], 0x65), node1, group4, RejectChecksum, "vrrp: checksum 0x5ffa, want 0x7556"},
		{"checksum 0", unhex(t, "3133640100640000 0a090064"), node1, group4, RejectChecksum, "vrrp: checksum 0x0000, want 0x7557"},
		{"IPv6 without the pseudo-header", resum(unhex(t, "3133640100640000 fd090000000000000000000000000100")), self6, group6, RejectChecksum, "vrrp: checksum 0x6c5d, want 0x6e3e"},
		{"old unicast form, to the group of another family", unhex(t, v3), node1, group6, RejectFamily, "vrrp: address family IPv6, want IPv4"},
		{"no source", unhex(t, v3), netip.Addr{}, netip.Addr{}, RejectFamily, "vrrp: address family IPv0, want IPv0"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, _, err := Parse(tt.b, tt.src, tt.dst)
			var packet *PacketError
			require.ErrorAs(t, err, &packet)
			assert.Equal(t, tt.want, packet.Reason)
			assert.EqualError(t, err, tt.message)
		})
	}
}

// The checksum covers each bit of the message, so a packet with one bit changed is another's or nobody's.
func TestParseRefusesEachFlippedBit(t *testing.T) {
	for _, tt := range wires() {
		t.Run(tt.name, func(t *testing.T) {
			b := unhex(t, tt.bytes)
			for bit := range len(b) * 8 {
				b[bit/8] ^= 1 << (bit % 8)
				_, _, err := Parse(b, tt.src, tt.dst)
				assert.Error(t, err, "bit %d", bit)
				b[bit/8] ^= 1 << (bit % 8)
			}
		})
	}
}

func TestParseRefusesAnotherSource(t *testing.T) {
	b := unhex(t, "3133640100647557 0a090064")
	_, _, err := Parse(b, node2, group4)
	assert.Error(t, err, "the pseudo-header names the source")
}

func TestParseIgnoresReservedBits(t *testing.T) {
	b := unhex(t, "3133640100645ffa0a090064")
	b[4] |= 0xf0
	got, form, err := Parse(resum(b), node1, group4)
	require.NoError(t, err)
	assert.Equal(t, MessageOnly, form)
	assert.Equal(t, time.Second, got.Interval)
}

func TestParseCopies(t *testing.T) {
	b := unhex(t, "3133640100645ffa0a090064")
	got, _, err := Parse(b, node1, group4)
	require.NoError(t, err)
	clear(b)
	assert.Equal(t, []netip.Addr{vip}, got.Addresses)
}

func TestAdvertisementAppendRefuses(t *testing.T) {
	v3 := Advertisement{Version: 3, VRID: 51, Priority: 100, Interval: time.Second, Addresses: []netip.Addr{vip}}
	v2 := v3
	v2.Version = 2
	tests := []struct {
		name     string
		give     Advertisement
		change   func(*Advertisement)
		src, dst netip.Addr
		want     string
	}{
		{"version 1", v3, func(a *Advertisement) { a.Version = 1 }, node1, group4, "vrrp: version 1, want 2 or 3"},
		{"VRID 0", v3, func(a *Advertisement) { a.VRID = 0 }, node1, group4, "vrrp: VRID 0, want 1 to 255"},
		{"256 addresses", v3, func(a *Advertisement) { a.Addresses = slices.Repeat(a.Addresses, 256) }, node1, group4, "vrrp: 256 addresses, want at most 255"},
		{"v3 interval 0", v3, func(a *Advertisement) { a.Interval = 0 }, node1, group4, "vrrp: advertisement interval 0s, want 10ms to 40.95s in steps of 10ms"},
		{"v3 interval 15ms", v3, func(a *Advertisement) { a.Interval = 15 * time.Millisecond }, node1, group4, "vrrp: advertisement interval 15ms, want 10ms to 40.95s in steps of 10ms"},
		{"v3 interval 40.96s", v3, func(a *Advertisement) { a.Interval = 4096 * centisecond }, node1, group4, "vrrp: advertisement interval 40.96s, want 10ms to 40.95s in steps of 10ms"},
		{"v2 interval 1.5s", v2, func(a *Advertisement) { a.Interval = 1500 * time.Millisecond }, node1, group4, "vrrp: advertisement interval 1.5s, want 1s to 255s in whole seconds with version 2"},
		{"v2 interval 256s", v2, func(a *Advertisement) { a.Interval = 256 * time.Second }, node1, group4, "vrrp: advertisement interval 4m16s, want 1s to 255s in whole seconds with version 2"},
		{"v2 authentication header", v2, func(a *Advertisement) { a.AuthType = 2 }, node1, group4, "vrrp: authentication type 2, want 0 (none) or 1 (password)"},
		{"v3 password", v3, func(a *Advertisement) { a.AuthType = AuthPass }, node1, group4, "vrrp: authentication type 1, want none: only version 2 has it"},
		{"v2 over IPv6", v2, func(*Advertisement) {}, addr("fe80::1"), group6, "vrrp: version 2 over IPv6, want version 3"},
		{"IPv6 address over IPv4", v3, func(a *Advertisement) { a.Addresses = []netip.Addr{vip, addr("fd09::1")} }, node1, group4, "vrrp: address fd09::1, want the family of the source 10.9.0.11"},
		{"invalid address", v3, func(a *Advertisement) { a.Addresses = make([]netip.Addr, 1) }, node1, group4, "vrrp: address invalid IP, want the family of the source 10.9.0.11"},
		{"no source", v3, func(*Advertisement) {}, netip.Addr{}, group4, "vrrp: source invalid IP, want an IPv4 or IPv6 address"},
		{"group of another family", v3, func(*Advertisement) {}, node1, group6, "vrrp: destination ff02::12, want the family of the source 10.9.0.11"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			tt.change(&tt.give)
			b, err := tt.give.Append([]byte("before"), tt.src, tt.dst, PseudoHeader)
			assert.EqualError(t, err, tt.want)
			assert.Equal(t, []byte("before"), b)
		})
	}
}

func TestAdvertisementAppendDoesNotAllocate(t *testing.T) {
	for _, tt := range wires() {
		b := make([]byte, 0, 24+16*len(tt.want.Addresses))
		allocs := testing.AllocsPerRun(100, func() { b, _ = tt.want.Append(b[:0], tt.src, tt.dst, tt.form) })
		assert.Zero(t, allocs, tt.name)
	}
}

func TestAdvertisementShares(t *testing.T) {
	a := Advertisement{Addresses: []netip.Addr{vip, addr("10.9.0.101")}}
	assert.True(t, a.Shares([]netip.Addr{addr("10.9.0.99"), addr("10.9.0.101")}))
	assert.False(t, a.Shares([]netip.Addr{addr("10.9.0.99")}))
	assert.False(t, a.Shares(nil))
}

func TestChecksumFormString(t *testing.T) {
	assert.Equal(t, "pseudo-header", PseudoHeader.String())
	assert.Equal(t, "message-only", MessageOnly.String())
	assert.Equal(t, "multicast-pseudo-header", MulticastPseudoHeader.String())
	assert.Equal(t, "checksumform(9)", ChecksumForm(9).String())
}
