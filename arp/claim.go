package arp

import (
	"encoding/binary"
	"net"
	"net/netip"
	"slices"

	"github.com/mdlayher/arp"
	"github.com/mdlayher/ethernet"
	"github.com/mdlayher/ndp"
)

// Claim says that somebody on the link speaks as the owner of an address: in any ARP packet, in a neighbour advertisement for it, in a
// neighbour solicitation from it. Who only asks whether it may have the address (RFC 5227 2.1.1, RFC 4862 5.4.2) does not claim it.
type Claim struct {
	Addr netip.Addr
	MAC  net.HardwareAddr // of the claimant
	// Answer tells that this goes to a single host, which has asked. A probe for IPv6 names nobody, so its answer goes to all like any announcement.
	Answer bool
}

// VRID is the virtual router that a claimant with a VRRP virtual MAC belongs to (RFC 9568 7.3); false if its MAC is an ordinary one.
func (c Claim) VRID() (uint8, bool) {
	if len(c.MAC) != 6 || !slices.Contains([]byte{1, 2}, c.MAC[4]) || !slices.Equal(c.MAC[:4], net.HardwareAddr{0x00, 0x00, 0x5e, 0x00}) {
		return 0, false
	}
	return c.MAC[5], true
}

const (
	ethernetLen = 14
	ipv6Len     = 40
)

// parseClaim reads an Ethernet frame with a neighbour's word in it. It reports false for everything else, and for what is malformed: such a
// frame says nothing about an address, and any host on the link can send one.
func parseClaim(frame []byte) (Claim, bool) {
	if len(frame) < ethernetLen {
		return Claim{}, false
	}
	src, payload := net.HardwareAddr(frame[6:12]), frame[ethernetLen:]
	switch ethernet.EtherType(binary.BigEndian.Uint16(frame[12:])) {
	case ethernet.EtherTypeARP:
		return parseARP(payload, frame[0]&1 == 0)
	case ethernet.EtherTypeIPv6:
		return parseND(src, payload)
	}
	return Claim{}, false
}

func parseARP(b []byte, single bool) (Claim, bool) {
	var p arp.Packet
	if p.UnmarshalBinary(b) != nil || p.HardwareType != 1 || p.ProtocolType != uint16(ethernet.EtherTypeIPv4) || p.HardwareAddrLength != 6 || p.IPLength != 4 {
		return Claim{}, false
	}
	return claim(p.SenderIP, p.SenderHardwareAddr, single && p.Operation == arp.OperationReply)
}

// parseND reads an IPv6 packet with a neighbour advertisement or solicitation directly behind its header. RFC 6980 forbids to fragment them,
// and RFC 4861 7.1 makes the hop limit and the checksum conditions.
func parseND(src net.HardwareAddr, b []byte) (Claim, bool) {
	if len(b) < ipv6Len || b[0]>>4 != 6 || b[6] != icmpv6 || b[7] != hopLimit {
		return Claim{}, false
	}
	size := int(binary.BigEndian.Uint16(b[4:]))
	if size < 24 || len(b) < ipv6Len+size {
		return Claim{}, false
	}
	from, to := netip.AddrFrom16([16]byte(b[8:24])), netip.AddrFrom16([16]byte(b[24:40]))
	icmp := b[ipv6Len : ipv6Len+size]
	if icmp[1] != 0 || checksum(from, to, icmp) != 0 {
		return Claim{}, false
	}
	m, err := ndp.ParseMessage(icmp)
	if err != nil {
		return Claim{}, false
	}
	switch m := m.(type) {
	case *ndp.NeighborAdvertisement:
		return claim(m.TargetAddress, linkLayer(m.Options, ndp.Target, src), m.Solicited)
	case *ndp.NeighborSolicitation:
		return claim(from, linkLayer(m.Options, ndp.Source, src), false)
	}
	return Claim{}, false
}

// claim takes only what a host may own, from somebody who could own it.
func claim(addr netip.Addr, mac net.HardwareAddr, answer bool) (Claim, bool) {
	if addr.IsUnspecified() || addr.IsMulticast() || addr.Is4In6() || len(mac) != 6 || mac[0]&1 != 0 {
		return Claim{}, false
	}
	return Claim{Addr: addr, MAC: slices.Clone(mac), Answer: answer}, true
}

// linkLayer is the address that an option gives, else that of the frame's sender.
func linkLayer(options []ndp.Option, direction ndp.Direction, src net.HardwareAddr) net.HardwareAddr {
	for _, o := range options {
		if l, ok := o.(*ndp.LinkLayerAddress); ok && l.Direction == direction {
			return l.Addr
		}
	}
	return src
}

// checksum is the Internet checksum of an ICMPv6 message with its pseudo-header (RFC 8200 8.1): 0 if the message carries the right one.
func checksum(from, to netip.Addr, icmp []byte) uint16 {
	sum := uint32(len(icmp)) + icmpv6
	for _, part := range [][]byte{from.AsSlice(), to.AsSlice(), icmp} {
		for len(part) >= 2 {
			sum += uint32(binary.BigEndian.Uint16(part))
			part = part[2:]
		}
		if len(part) == 1 {
			sum += uint32(part[0]) << 8
		}
	}
	for sum > 0xffff {
		sum = sum>>16 + sum&0xffff
	}
	return ^uint16(sum)
}
