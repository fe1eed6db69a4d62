package lab

import (
	"encoding/binary"
	"net/netip"
	"time"

	"golang.org/x/sys/unix"
)

// parseAdvert reads the fixed part of a VRRP packet in an Ethernet frame,
// without judging it: the lab wants to see bad ones too.
func parseAdvert(frame []byte) (Advert, bool) {
	if len(frame) < etherHeader+ipv4Header {
		return Advert{}, false
	}
	var a Advert
	var vrrp []byte
	switch binary.BigEndian.Uint16(frame[12:]) {
	case unix.ETH_P_IP:
		ip := frame[etherHeader:]
		header := int(ip[0]&0x0f) * 4
		if ip[9] != protoVRRP || len(ip) < header+8 {
			return Advert{}, false
		}
		a.Source, vrrp = netip.AddrFrom4([4]byte(ip[12:16])), ip[header:]
	case unix.ETH_P_IPV6:
		ip := frame[etherHeader:]
		if len(ip) < ipv6Header+8 || ip[6] != protoVRRP {
			return Advert{}, false
		}
		a.Source, vrrp = netip.AddrFrom16([16]byte(ip[8:24])), ip[ipv6Header:]
	default:
		return Advert{}, false
	}
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
