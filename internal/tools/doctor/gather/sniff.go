package gather

import (
	"context"
	"encoding/binary"
	"errors"
	"math"
	"net"
	"net/netip"
	"time"

	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"

	"github.com/keepvip/keepvip/internal/tools/doctor"
	"github.com/keepvip/keepvip/members"
	"github.com/keepvip/keepvip/vrrp"
)

const (
	ethernetLen = 14
	ipv6Len     = 40
	udpLen      = 8
	protoVRRP   = 112
	// frameLen is longer than any advertisement and any message.
	frameLen = 2048
	// glance is how long one read lasts, so that the end of the time is seen.
	glance = 50 * time.Millisecond
)

// sniff notes VRRP and the members' messages on ifi, those that leave too, before any firewall of this host sees what comes in.
func sniff(ctx context.Context, ifi net.Interface, port uint16, groups []netip.Addr, n *notes) {
	fd, err := openSniffer(ifi.Index, port, groups)
	if err == nil {
		sniffFrom(ctx, fd, port, n)
	}
}

// sniffFrom notes what a socket gets, and closes it in the end.
func sniffFrom(ctx context.Context, fd int, port uint16, n *notes) {
	defer unix.Close(fd)
	buf := make([]byte, frameLen)
	for ctx.Err() == nil {
		length, from, err := unix.Recvfrom(fd, buf, 0)
		switch {
		case errors.Is(err, unix.EAGAIN), errors.Is(err, unix.EINTR):
			continue
		case err != nil:
			<-time.After(readPause)
			continue
		}
		ll, ok := from.(*unix.SockaddrLinklayer)
		if !ok || ll.Pkttype == unix.PACKET_OTHERHOST {
			continue // a promiscuous interface shows it; no socket of this host would get it
		}
		if p, valid := packetOf(buf[:length], port); valid {
			p.outgoing = ll.Pkttype == unix.PACKET_OUTGOING
			n.note(p, time.Now())
		}
	}
}

func openSniffer(index int, port uint16, groups []netip.Addr) (fd int, err error) {
	if fd, err = unix.Socket(unix.AF_PACKET, unix.SOCK_RAW|unix.SOCK_CLOEXEC, 0); err != nil {
		return -1, err
	}
	defer func() {
		if err != nil {
			_ = unix.Close(fd)
		}
	}()
	if err = attach(fd, sniffed(port)); err != nil {
		return -1, err
	}
	timeout := unix.NsecToTimeval(glance.Nanoseconds())
	if err = unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &timeout); err != nil {
		return -1, err
	}
	for _, group := range groups {
		mac := unix.PacketMreq{Ifindex: int32(index), Type: unix.PACKET_MR_MULTICAST, Alen: 6, Address: groupMAC(group)}
		if err = unix.SetsockoptPacketMreq(fd, unix.SOL_PACKET, unix.PACKET_ADD_MEMBERSHIP, &mac); err != nil {
			return -1, err
		}
	}
	if err = unix.Bind(fd, &unix.SockaddrLinklayer{Ifindex: index, Protocol: etherAll()}); err != nil {
		return -1, err
	}
	return fd, nil
}

// groupMAC is where frames to a group go (RFC 1112, section 6.4; RFC 2464, section 7).
func groupMAC(group netip.Addr) [8]byte {
	b := group.As16()
	if group.Is4() {
		return [8]byte{0x01, 0x00, 0x5e, b[13] & 0x7f, b[14], b[15]}
	}
	return [8]byte{0x33, 0x33, b[12], b[13], b[14], b[15]}
}

// sniffed passes frames with protocol 112 and with UDP to the port, of both families and of no VLAN, which belongs to another interface. A tag
// with the VLAN 0 says a priority alone (IEEE 802.1Q, section 9.6), and the kernel takes such a frame for one without.
func sniffed(port uint16) []bpf.Instruction {
	const refuse, take = 18, 19
	to := func(at, target int) uint8 { return uint8(target - at - 1) }
	return []bpf.Instruction{
		0:  bpf.LoadExtension{Num: bpf.ExtVLANTag},
		1:  bpf.ALUOpConstant{Op: bpf.ALUOpAnd, Val: 0xfff},
		2:  bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: 0, SkipTrue: to(2, refuse)},
		3:  bpf.LoadAbsolute{Off: 12, Size: 2},
		4:  bpf.JumpIf{Cond: bpf.JumpEqual, Val: unix.ETH_P_IPV6, SkipTrue: to(4, 13)},
		5:  bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: unix.ETH_P_IP, SkipTrue: to(5, refuse)},
		6:  bpf.LoadAbsolute{Off: ethernetLen + 9, Size: 1},
		7:  bpf.JumpIf{Cond: bpf.JumpEqual, Val: protoVRRP, SkipTrue: to(7, take)},
		8:  bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: unix.IPPROTO_UDP, SkipTrue: to(8, refuse)},
		9:  bpf.LoadMemShift{Off: ethernetLen},
		10: bpf.LoadIndirect{Off: ethernetLen + 2, Size: 2},
		11: bpf.JumpIf{Cond: bpf.JumpEqual, Val: uint32(port), SkipTrue: to(11, take)},
		12: bpf.Jump{Skip: uint32(to(12, refuse))},
		13: bpf.LoadAbsolute{Off: ethernetLen + 6, Size: 1},
		14: bpf.JumpIf{Cond: bpf.JumpEqual, Val: protoVRRP, SkipTrue: to(14, take)},
		15: bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: unix.IPPROTO_UDP, SkipTrue: to(15, refuse)},
		16: bpf.LoadAbsolute{Off: ethernetLen + ipv6Len + 2, Size: 2},
		17: bpf.JumpIf{Cond: bpf.JumpEqual, Val: uint32(port), SkipTrue: to(17, take)},
		18: bpf.RetConstant{Val: 0},
		19: bpf.RetConstant{Val: math.MaxUint16},
	}
}

// packet is a frame that was taken apart. Its payload is VRRP's or a member's.
type packet struct {
	mac                 net.HardwareAddr
	source, destination netip.Addr
	vrrp                bool
	payload             []byte
	outgoing            bool
}

// packetOf takes the headers off a frame. What has come through a router is no advertisement and no message (RFC 9568, section 5.1.1.3).
func packetOf(frame []byte, port uint16) (p packet, ok bool) {
	if len(frame) < ethernetLen {
		return p, false
	}
	p.mac = net.HardwareAddr(frame[6:12])
	var protocol, ttl byte
	switch b := frame[ethernetLen:]; binary.BigEndian.Uint16(frame[12:]) {
	case unix.ETH_P_IP:
		if len(b) < 20 || b[0]>>4 != 4 {
			return p, false
		}
		head, total := int(b[0]&0xf)*4, int(binary.BigEndian.Uint16(b[2:]))
		if fragment := binary.BigEndian.Uint16(b[6:]) & 0x3fff; head < 20 || total < head || total > len(b) || fragment != 0 {
			return p, false
		}
		protocol, ttl, p.payload = b[9], b[8], b[head:total]
		p.source, p.destination = netip.AddrFrom4([4]byte(b[12:16])), netip.AddrFrom4([4]byte(b[16:20]))
	case unix.ETH_P_IPV6:
		if len(b) < ipv6Len || b[0]>>4 != 6 {
			return p, false
		}
		total := ipv6Len + int(binary.BigEndian.Uint16(b[4:]))
		if total > len(b) {
			return p, false
		}
		protocol, ttl, p.payload = b[6], b[7], b[ipv6Len:total]
		p.source, p.destination = netip.AddrFrom16([16]byte(b[8:24])), netip.AddrFrom16([16]byte(b[24:40]))
	}
	if ttl != 255 {
		return p, false
	}
	switch protocol {
	case protoVRRP:
		p.vrrp = true
		return p, true
	case unix.IPPROTO_UDP:
		if len(p.payload) < udpLen || binary.BigEndian.Uint16(p.payload[2:]) != port || int(binary.BigEndian.Uint16(p.payload[4:])) != len(p.payload) {
			return p, false
		}
		p.payload = p.payload[udpLen:]
		return p, true
	}
	return p, false
}

// note keeps what a packet says, if it is of the wire's family: virtual routers of two families may have one VRID. Nobody has verified it.
func (n *notes) note(p packet, now time.Time) {
	if p.source.Is4() != n.wire.IPv4 {
		return
	}
	if isProbe(p.payload, p.vrrp) {
		if !n.own(p.mac, p.outgoing) {
			n.probed(p)
		}
		return
	}
	if p.vrrp {
		a, err := vrrp.ParseUnverified(p.payload, p.source, p.destination)
		if err == nil {
			n.advert(doctor.Advert{
				Source: p.source, MAC: p.mac.String(), Own: n.own(p.mac, p.outgoing), Version: a.Version, VRID: a.VRID, Priority: a.Priority,
				Interval: a.Interval, Addresses: a.Addresses,
			})
		}
		return
	}
	m, sequence, err := members.Parse(p.payload)
	if err != nil {
		return
	}
	h := doctor.Hello{
		Source: p.source, MAC: p.mac.String(), Own: n.own(p.mac, p.outgoing), Group: m.Peer.Group, Node: m.Peer.Node, Software: m.Peer.Software,
		Session: m.Session, Claims: m.Peer.Claims, Version: m.Peer.Router.Version, VRID: m.Peer.Router.VRID, Interval: m.Peer.Router.Interval,
		Addresses: m.Peer.Router.Addresses, MTU: int(m.Peer.Router.MTU),
		KeyID: members.KeyID(p.payload), Ahead: time.Unix(0, int64(min(sequence, math.MaxInt64))).Sub(now), Full: len(m.Peer.Hears) >= members.MostHeard,
	}
	for _, o := range m.Peer.Hears {
		h.Hears = append(h.Hears, o.Session)
		if o.Missing {
			h.Misses = append(h.Misses, o.Session)
		}
	}
	n.hello(h)
}
