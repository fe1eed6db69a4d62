package arp

import (
	"encoding/binary"
	"fmt"
	"net"
	"net/netip"
)

// operation is that of an ARP packet (RFC 826).
type operation uint16

const (
	opRequest operation = 1
	opReply   operation = 2
)

// etherType says what an Ethernet frame carries.
type etherType uint16

const (
	typeIPv4 etherType = 0x0800
	typeARP  etherType = 0x0806
	typeIPv6 etherType = 0x86dd
)

const (
	// minPayload is what Ethernet pads shorter payloads to, with zeros.
	minPayload = 46
	// arpLen is the length of an ARP packet for IPv4 on Ethernet.
	arpLen = 28
)

// broadcast is the Ethernet address of everybody on the link.
var broadcast = net.HardwareAddr{0xff, 0xff, 0xff, 0xff, 0xff, 0xff}

// arpPacket is an ARP packet for IPv4 on Ethernet.
type arpPacket struct {
	operation            operation
	senderMAC, targetMAC net.HardwareAddr
	sender, target       netip.Addr
}

// append appends the packet's 28 octets. Its MACs have six octets, and its addresses are IPv4.
func (p arpPacket) append(b []byte) []byte {
	b = binary.BigEndian.AppendUint16(b, 1) // Ethernet
	b = binary.BigEndian.AppendUint16(b, uint16(typeIPv4))
	b = append(b, 6, 4)
	b = binary.BigEndian.AppendUint16(b, uint16(p.operation))
	b = append(append(b, p.senderMAC...), p.sender.AsSlice()...)
	return append(append(b, p.targetMAC...), p.target.AsSlice()...)
}

// parseARPPacket reads the packet; false if it is short, or not for IPv4 on Ethernet. Padding may be behind it. The MACs are of b.
func parseARPPacket(b []byte) (arpPacket, bool) {
	if len(b) < arpLen || binary.BigEndian.Uint16(b) != 1 || etherType(binary.BigEndian.Uint16(b[2:])) != typeIPv4 || b[4] != 6 || b[5] != 4 {
		return arpPacket{}, false
	}
	return arpPacket{
		operation: operation(binary.BigEndian.Uint16(b[6:])),
		senderMAC: b[8:14], sender: netip.AddrFrom4([4]byte(b[14:18])),
		targetMAC: b[18:24], target: netip.AddrFrom4([4]byte(b[24:28])),
	}, true
}

// ethernetFrame has no check sequence: the card appends it.
func ethernetFrame(dst, src net.HardwareAddr, kind etherType, payload []byte) ([]byte, error) {
	if len(src) != 6 {
		return nil, fmt.Errorf("link-layer address of %d bytes, want 6", len(src))
	}
	b := make([]byte, 0, ethernetLen+max(len(payload), minPayload))
	b = append(append(b, dst...), src...)
	b = binary.BigEndian.AppendUint16(b, uint16(kind))
	b = append(b, payload...)
	return b[:max(len(b), ethernetLen+minPayload)], nil
}
