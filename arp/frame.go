package arp

import (
	"encoding/binary"
	"fmt"
	"net"
	"net/netip"

	"github.com/mdlayher/arp"
	"github.com/mdlayher/ethernet"
	"github.com/mdlayher/ndp"
)

const (
	icmpv6   = 58  // next header (RFC 8200)
	hopLimit = 255 // of neighbour discovery (RFC 4861 7.1)
)

// allNodes is the group that every IPv6 host listens to (RFC 4291 2.7.1).
var allNodes = netip.AddrFrom16([16]byte{0: 0xff, 1: 0x02, 15: 1})

// gratuitousARP is an Ethernet broadcast that says that mac answers for addr, as a request or as a reply. Receivers differ in which of the
// two they believe. The target hardware address follows from the form: broadcast in a request, as routers send it for VRRP; mac in a reply,
// because Linux takes a reply to any other address for somebody else's conversation and ignores it.
func gratuitousARP(op arp.Operation, mac net.HardwareAddr, addr netip.Addr) ([]byte, error) {
	target := ethernet.Broadcast
	if op == arp.OperationReply {
		target = mac
	}
	return arpFrame(ethernet.Broadcast, op, mac, addr, target, addr)
}

// unsolicitedNA is a neighbour advertisement to all nodes that says that mac answers for addr: not Solicited, with Override, so that it
// replaces what a neighbour has cached (RFC 4861 4.4 and 7.2.6).
func unsolicitedNA(mac net.HardwareAddr, addr netip.Addr, router bool) ([]byte, error) {
	na := &ndp.NeighborAdvertisement{
		Router:        router,
		Override:      true,
		TargetAddress: addr,
		Options:       []ndp.Option{&ndp.LinkLayerAddress{Direction: ndp.Target, Addr: mac}},
	}
	return ndpFrame(groupMAC(allNodes), mac, addr, allNodes, na)
}

// arpFrame goes to dst, from the sender's mac. The target hardware address is of the packet, not of the frame.
func arpFrame(dst net.HardwareAddr, op arp.Operation, mac net.HardwareAddr, sender netip.Addr, targetMAC net.HardwareAddr, target netip.Addr) ([]byte, error) {
	p, err := arp.NewPacket(op, mac, sender, targetMAC, target)
	if err != nil {
		return nil, err
	}
	payload, err := p.MarshalBinary()
	if err != nil {
		return nil, err
	}
	return ethernetFrame(dst, mac, ethernet.EtherTypeARP, payload)
}

// ndpFrame is a message of neighbour discovery, from mac to dst.
func ndpFrame(dst, mac net.HardwareAddr, from, to netip.Addr, m ndp.Message) ([]byte, error) {
	icmp, err := ndp.MarshalMessageChecksum(m, from, to)
	if err != nil {
		return nil, err
	}
	return ethernetFrame(dst, mac, ethernet.EtherTypeIPv6, ipv6Packet(from, to, icmp))
}

// ipv6Packet puts a message of neighbour discovery into an IPv6 packet: next header ICMPv6, and the hop limit of 255 by which its receiver
// knows that no router has passed it on (RFC 4861 7.1).
func ipv6Packet(src, dst netip.Addr, icmp []byte) []byte {
	const version = 6 << 4
	b := make([]byte, 0, 40+len(icmp))
	b = append(b, version, 0, 0, 0)
	b = binary.BigEndian.AppendUint16(b, uint16(len(icmp)))
	b = append(b, icmpv6, hopLimit)
	b = append(b, src.AsSlice()...)
	b = append(b, dst.AsSlice()...)
	return append(b, icmp...)
}

// groupMAC is the Ethernet address of an IPv6 multicast group (RFC 2464 7).
func groupMAC(group netip.Addr) net.HardwareAddr {
	a := group.As16()
	return net.HardwareAddr{0x33, 0x33, a[12], a[13], a[14], a[15]}
}

func ethernetFrame(dst, src net.HardwareAddr, kind ethernet.EtherType, payload []byte) ([]byte, error) {
	if len(src) != 6 {
		return nil, fmt.Errorf("link-layer address of %d bytes, want 6", len(src))
	}
	return (&ethernet.Frame{Destination: dst, Source: src, EtherType: kind, Payload: payload}).MarshalBinary()
}
