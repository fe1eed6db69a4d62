package lab

import (
	"encoding/binary"
	"net"
	"net/netip"
	"time"

	"golang.org/x/sys/unix"
)

// announcement is what a captured ARP frame or neighbour advertisement says.
type announcement struct {
	kind        string
	address     netip.Addr
	mac         net.HardwareAddr // the one announced, or of the frame if none is inside
	unsolicited bool
}

// Kinds of announcements in a [Report].
const (
	KindARPRequest = "arp-request"
	KindARPReply   = "arp-reply"
	KindNA         = "na"
)

// parseAnnouncement reads an Ethernet frame; ok is false for other frames.
func parseAnnouncement(frame []byte) (announcement, bool) {
	if len(frame) < etherHeader {
		return announcement{}, false
	}
	switch binary.BigEndian.Uint16(frame[12:]) {
	case unix.ETH_P_ARP:
		return parseARP(frame)
	case unix.ETH_P_IPV6:
		return parseNA(frame)
	}
	return announcement{}, false
}

func parseARP(frame []byte) (announcement, bool) {
	if len(frame) < etherHeader+28 {
		return announcement{}, false
	}
	b := frame[etherHeader:]
	sender, target := netip.AddrFrom4([4]byte(b[14:18])), netip.AddrFrom4([4]byte(b[24:28]))
	a := announcement{kind: KindARPRequest, address: sender, mac: net.HardwareAddr(b[8:14])}
	broadcast := frame[0]&1 == 1
	if binary.BigEndian.Uint16(b[6:]) == 2 {
		a.kind, a.unsolicited = KindARPReply, broadcast || sender == target
		return a, true
	}
	// A request that is not about its sender is a question, not an announcement.
	a.unsolicited = sender == target
	return a, a.unsolicited
}

func parseNA(frame []byte) (announcement, bool) {
	p, _ := packetOf(frame)
	b := p.content
	if p.protocol != unix.IPPROTO_ICMPV6 || len(b) < 24 || b[0] != icmpNeighborAdvertise {
		return announcement{}, false
	}
	a := announcement{kind: KindNA, address: netip.AddrFrom16([16]byte(b[8:24])), mac: net.HardwareAddr(frame[6:12])}
	a.unsolicited = b[4]&0x40 == 0 // the Solicited flag, RFC 4861 section 4.4
	if len(b) >= 32 && b[24] == 2 && b[25] == 1 {
		a.mac = net.HardwareAddr(b[26:32])
	}
	return a, true
}

// parseAdvert reads the fixed part of a VRRP packet in an Ethernet frame,
// without judging it: the lab wants to see bad ones too.
func parseAdvert(frame []byte) (Advert, bool) {
	p, _ := packetOf(frame)
	if p.protocol != protoVRRP || len(p.content) < 8 {
		return Advert{}, false
	}
	a, vrrp := Advert{Source: p.from}, p.content
	a.Version, a.VRID, a.Priority, a.Addresses = int(vrrp[0]>>4), int(vrrp[1]), int(vrrp[2]), int(vrrp[3])
	if a.Version == 2 {
		a.Interval = time.Duration(vrrp[5]) * time.Second
	} else {
		a.Interval = time.Duration(binary.BigEndian.Uint16(vrrp[4:])&0x0fff) * 10 * time.Millisecond
	}
	size := map[bool]int{true: 16, false: 4}[a.Source.Is6()]
	for rest := vrrp[8:]; len(a.names) < min(a.Addresses, namesKept) && len(rest) >= size; rest = rest[size:] {
		named, _ := netip.AddrFromSlice(rest[:size])
		a.names = append(a.names, named)
	}
	return a, true
}

// namesKept is how many of the addresses of an advertisement are kept: that of a thousand addresses has the first ones.
const namesKept = 4
