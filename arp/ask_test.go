package arp

import (
	"encoding/binary"
	"net"
	"net/netip"
	"strings"
	"testing"

	"github.com/mdlayher/arp"
	"github.com/mdlayher/ethernet"
	"github.com/mdlayher/ndp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var (
	here    = net.HardwareAddr{2, 0, 0, 0, 0, 1}
	there   = net.HardwareAddr{2, 0, 0, 0, 0, 7}
	self4   = netip.MustParseAddr("10.9.0.11")
	self6   = netip.MustParseAddr("fe80::11")
	router4 = netip.MustParseAddr("10.9.0.1")
	router6 = netip.MustParseAddr("fe80::1")
)

// replied is the ARP packet that there sends as op, for an address and to one.
func replied(t testing.TB, op arp.Operation, sender, target netip.Addr) []byte {
	ok := must(t)
	p, err := arp.NewPacket(op, there, sender, here, target)
	require.NoError(t, err)
	return ok(ethernetFrame(here, there, ethernet.EtherTypeARP, ok(p.MarshalBinary())))
}

// advertised is the neighbour advertisement that there sends.
func advertised(t testing.TB, solicited bool, target, to netip.Addr) []byte {
	ok := must(t)
	na := &ndp.NeighborAdvertisement{
		Router: true, Solicited: solicited, Override: true, TargetAddress: target,
		Options: []ndp.Option{&ndp.LinkLayerAddress{Direction: ndp.Target, Addr: there}},
	}
	icmp := ok(ndp.MarshalMessageChecksum(na, target, to))
	return ok(ethernetFrame(here, there, ethernet.EtherTypeIPv6, ipv6Packet(target, to, icmp)))
}

func TestQuestionBytes(t *testing.T) {
	ok := must(t)
	assert.Equal(t, unhex(t, "ffffffffffff 020000000001 0806 0001 0800 06 04 0001 020000000001 0a09000b 000000000000 0a090001"+strings.Repeat(" 00", 18)), ok(question(here, nil, self4, router4)))
	assert.Equal(t, []byte(there), ok(question(here, there, self4, router4))[:6], "who has answered is asked alone")
	ns := " 020000000001 86dd 60000000 0020 3a ff fe800000000000000000000000000011"
	whole := func(mac, to string) []byte {
		return sum(unhex(t, mac+ns+to+" 87000000 00000000 fe800000000000000000000000000001 0101 020000000001"))
	}
	assert.Equal(t, whole("3333ff000001", "ff0200000000000000000001ff000001"), ok(question(here, nil, self6, router6)))
	assert.Equal(t, whole("020000000007", "fe800000000000000000000000000001"), ok(question(here, there, self6, router6)))
}

func TestParseAnswer(t *testing.T) {
	other4, other6 := netip.MustParseAddr("10.9.0.12"), netip.MustParseAddr("fe80::12")
	tests := []struct {
		name     string
		give     []byte
		from, to netip.Addr
		want     bool
	}{
		{"ARP reply", replied(t, arp.OperationReply, router4, self4), self4, router4, true},
		{"ARP reply to another", replied(t, arp.OperationReply, router4, other4), self4, router4, false},
		{"ARP reply of another", replied(t, arp.OperationReply, other4, self4), self4, router4, false},
		{"the router's own ARP request", replied(t, arp.OperationRequest, router4, self4), self4, router4, false},
		{"gratuitous ARP", must(t)(gratuitousARP(arp.OperationReply, there, router4)), self4, router4, false},
		{"ARP reply cut off", replied(t, arp.OperationReply, router4, self4)[:40], self4, router4, false},
		{"advertisement", advertised(t, true, router6, self6), self6, router6, true},
		{"advertisement that nobody asked for", advertised(t, false, router6, self6), self6, router6, false},
		{"advertisement to another", advertised(t, true, router6, other6), self6, router6, false},
		{"advertisement of another", advertised(t, true, other6, self6), self6, router6, false},
		{"hop limit 254 (RFC 4861 7.1.2)", changed(advertised(t, true, router6, self6), ethernetLen+7, 254), self6, router6, false},
		{"the router's own solicitation", must(t)(question(there, here, router6, self6)), self6, router6, false},
		{"nothing", nil, self4, router4, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			mac, ok := parseAnswer(tt.give, tt.from, tt.to)
			assert.Equal(t, tt.want, ok)
			if tt.want {
				assert.Equal(t, there, mac)
			}
		})
	}
}

func TestOpenAskerRefusesTwoFamilies(t *testing.T) {
	_, err := OpenAsker(&net.Interface{Name: "eth0"}, self4, router6)
	assert.EqualError(t, err, "arp: ask for fe80::1 from 10.9.0.11, want two addresses of one family")
}

func FuzzParseAnswer(f *testing.F) {
	f.Add(replied(f, arp.OperationReply, router4, self4), false)
	f.Add(advertised(f, true, router6, self6), true)
	f.Fuzz(func(t *testing.T, b []byte, six bool) {
		from, to := self4, router4
		if six {
			from, to = self6, router6
			b = fixed(b)
		}
		mac, ok := parseAnswer(b, from, to)
		if !ok {
			return
		}
		require.Len(t, mac, 6)
		want := uint16(ethernet.EtherTypeARP)
		if six {
			want = uint16(ethernet.EtherTypeIPv6)
		}
		assert.Equal(t, want, binary.BigEndian.Uint16(b[12:]))
	})
}
