package lab

import (
	"encoding/binary"
	"net/netip"
	"slices"
	"time"

	"golang.org/x/sys/unix"
)

// Carried is a frame that a node sent in an address's name.
type Carried struct {
	At      time.Duration
	Node    int
	Kind    string // "arp", "ip", "ns", "na" or KindReset
	Address netip.Addr
}

// WatchCarried notes each frame that comes out of a node and carries one of the
// addresses: as the sender in ARP, as the source of a packet, or as the target of
// a neighbour solicitation or advertisement.
func (l *Lab) WatchCarried(addrs ...netip.Addr) (*Recording[Carried], error) {
	return record(l, func(f RecordedFrame) (Carried, bool) {
		for kind, addr := range carriedBy(f.Data) {
			if slices.Contains(addrs, addr) {
				return Carried{At: f.At, Node: f.Node, Kind: kind, Address: addr}, true
			}
		}
		return Carried{}, false
	})
}

// KindReset is the end of a connection of TCP: it answers nobody.
const KindReset = "reset"

func resets(segment []byte) bool { return len(segment) > 13 && segment[13]&0x04 != 0 }

// carriedBy lists the addresses in whose name a frame speaks.
func carriedBy(frame []byte) map[string]netip.Addr {
	if len(frame) >= etherHeader+28 && binary.BigEndian.Uint16(frame[12:]) == unix.ETH_P_ARP {
		return map[string]netip.Addr{"arp": netip.AddrFrom4([4]byte(frame[etherHeader+14:]))}
	}
	p, ok := packetOf(frame)
	switch {
	case !ok:
		return nil
	case p.protocol == unix.IPPROTO_TCP && resets(p.content):
		return map[string]netip.Addr{KindReset: p.from}
	}
	found := map[string]netip.Addr{"ip": p.from}
	if p.protocol == unix.IPPROTO_ICMPV6 && len(p.content) >= 24 {
		target := netip.AddrFrom16([16]byte(p.content[8:24]))
		switch {
		case p.content[0] == icmpNeighborSolicit && !p.from.IsUnspecified():
			found["ns"] = target
		case p.content[0] == icmpNeighborAdvertise:
			found["na"] = target
		}
	}
	return found
}
