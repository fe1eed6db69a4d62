package arp

import (
	"fmt"
	"net"
	"net/netip"

	"github.com/mdlayher/arp"
	"github.com/mdlayher/ethernet"
	"github.com/mdlayher/ndp"
)

// Probe asks the link whether anybody has one of addrs, without claiming any: an ARP probe (RFC 5227 2.1.1) for IPv4, a neighbour
// solicitation as in duplicate address detection (RFC 4862 5.4.2) for IPv6. Who has it answers, and Watch reports the answer. One question may
// be lost; RFC 5227 asks three times, a second or two apart. The error is as that of Announce.
func (c *Conn) Probe(addrs ...netip.Addr) error {
	if err := c.probe(addrs); err != nil {
		return fmt.Errorf("arp: probe on %s: %w", c.ifi.Name, err)
	}
	return nil
}

func (c *Conn) probe(addrs []netip.Addr) error {
	mac, err := c.mac()
	if err != nil {
		return err
	}
	frames := make([][]byte, 0, len(addrs))
	for _, addr := range addrs {
		f, err := probe(mac, addr)
		if err != nil {
			return fmt.Errorf("probe for %s: %w", addr, err)
		}
		frames = append(frames, f)
	}
	return c.send(frames)
}

func probe(mac net.HardwareAddr, addr netip.Addr) ([]byte, error) {
	if addr.Is4() {
		// The unspecified sender keeps every neighbour's cache as it is.
		return arpFrame(ethernet.Broadcast, arp.OperationRequest, mac, netip.IPv4Unspecified(), make(net.HardwareAddr, 6), addr)
	}
	group := solicitedNode(addr)
	return ndpFrame(groupMAC(group), mac, netip.IPv6Unspecified(), group, &ndp.NeighborSolicitation{TargetAddress: addr})
}

// solicitedNode is the group in which the holder of an IPv6 address is asked for it (RFC 4291 2.7.1).
func solicitedNode(a netip.Addr) netip.Addr {
	b := a.As16()
	return netip.AddrFrom16([16]byte{0: 0xff, 1: 0x02, 11: 1, 12: 0xff, 13: b[13], 14: b[14], 15: b[15]})
}
