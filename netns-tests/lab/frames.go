package lab

import (
	"encoding/binary"
	"net"
	"net/netip"

	"golang.org/x/sys/unix"
)

const (
	etherHeader = 14
	ipv4Header  = 20
	ipv6Header  = 40
	udpHeader   = 8

	protoVRRP = 112

	icmpNeighborSolicit   = 135
	icmpNeighborAdvertise = 136
)

// ends are the two ends of a probe frame.
type ends struct {
	fromMAC, toMAC net.HardwareAddr
	from, to       netip.AddrPort
}

func etherFrame(to, from net.HardwareAddr, etherType uint16, size int) []byte {
	b := make([]byte, 0, etherHeader+size)
	b = append(b, to...)
	b = append(b, from...)
	return binary.BigEndian.AppendUint16(b, etherType)
}

// question asks one host for an address, by ARP or neighbour solicitation.
func (p *Peer) question(toMAC net.HardwareAddr, addr netip.Addr) []byte {
	e := ends{fromMAC: p.MAC, toMAC: toMAC, from: netip.AddrPortFrom(p.Address, 0), to: netip.AddrPortFrom(addr, 0)}
	if addr.Is4() {
		return arpRequest(e)
	}
	e.from = netip.AddrPortFrom(p.Addr6, 0)
	return neighborSolicitation(e)
}

// arpRequest asks for target in a frame to one host alone.
func arpRequest(e ends) []byte {
	b := etherFrame(e.toMAC, e.fromMAC, unix.ETH_P_ARP, 28)
	b = append(b, 0, 1, 8, 0, 6, 4, 0, 1)
	b = append(b, e.fromMAC...)
	b = append(b, e.from.Addr().AsSlice()...)
	b = append(b, make([]byte, 6)...)
	return append(b, e.to.Addr().AsSlice()...)
}

// neighborSolicitation asks for the target as a new neighbour does, to the
// solicited-node group (RFC 4291 section 2.7.1), but in a frame to one host alone.
func neighborSolicitation(e ends) []byte {
	target := e.to.Addr().As16()
	group := netip.MustParseAddr("ff02::1:ff00:0").As16()
	copy(group[13:], target[13:])
	message := []byte{icmpNeighborSolicit, 0, 0, 0, 0, 0, 0, 0}
	message = append(message, target[:]...)
	message = append(message, 1, 1) // source link-layer address, one unit of 8 octets
	message = append(message, e.fromMAC...)
	from, to := e.from.Addr(), netip.AddrFrom16(group)
	binary.BigEndian.PutUint16(message[2:], pseudoChecksum(from, to, unix.IPPROTO_ICMPV6, message))
	return ipFrame(e, from, to, unix.IPPROTO_ICMPV6, 255, message)
}

// gratuitous announces addr at mac to everybody.
func gratuitous(mac net.HardwareAddr, addr netip.Addr) []byte {
	if addr.Is4() {
		e := ends{fromMAC: mac, toMAC: net.HardwareAddr{0xff, 0xff, 0xff, 0xff, 0xff, 0xff}}
		e.from, e.to = netip.AddrPortFrom(addr, 0), netip.AddrPortFrom(addr, 0)
		return arpRequest(e)
	}
	all := netip.MustParseAddr("ff02::1")
	target := addr.As16()
	message := append([]byte{icmpNeighborAdvertise, 0, 0, 0, 0x20, 0, 0, 0}, target[:]...) // Override
	message = append(message, 2, 1)
	message = append(message, mac...)
	binary.BigEndian.PutUint16(message[2:], pseudoChecksum(addr, all, unix.IPPROTO_ICMPV6, message))
	return ipFrame(ends{fromMAC: mac, toMAC: net.HardwareAddr{0x33, 0x33, 0, 0, 0, 1}}, addr, all, unix.IPPROTO_ICMPV6, 255, message)
}

// udpFrame carries content from one end to the other.
func udpFrame(e ends, content []byte) []byte {
	b := binary.BigEndian.AppendUint16(nil, e.from.Port())
	b = binary.BigEndian.AppendUint16(b, e.to.Port())
	b = binary.BigEndian.AppendUint16(b, uint16(udpHeader+len(content)))
	b = append(b, 0, 0)
	b = append(b, content...)
	sum := pseudoChecksum(e.from.Addr(), e.to.Addr(), unix.IPPROTO_UDP, b)
	if sum == 0 {
		sum = 0xffff
	}
	binary.BigEndian.PutUint16(b[6:], sum)
	return ipFrame(e, e.from.Addr(), e.to.Addr(), unix.IPPROTO_UDP, 64, b)
}

func ipFrame(e ends, from, to netip.Addr, protocol, limit byte, content []byte) []byte {
	if from.Is4() {
		b := etherFrame(e.toMAC, e.fromMAC, unix.ETH_P_IP, ipv4Header+len(content))
		b = append(b, 0x45, 0)
		b = binary.BigEndian.AppendUint16(b, uint16(ipv4Header+len(content)))
		b = append(b, 0, 0, 0, 0, limit, protocol, 0, 0)
		b = append(b, from.AsSlice()...)
		b = append(b, to.AsSlice()...)
		binary.BigEndian.PutUint16(b[etherHeader+10:], ^sum16(0, b[etherHeader:]))
		return append(b, content...)
	}
	b := etherFrame(e.toMAC, e.fromMAC, unix.ETH_P_IPV6, ipv6Header+len(content))
	b = append(b, 0x60, 0, 0, 0)
	b = binary.BigEndian.AppendUint16(b, uint16(len(content)))
	b = append(b, protocol, limit)
	b = append(b, from.AsSlice()...)
	b = append(b, to.AsSlice()...)
	return append(b, content...)
}

// packet is what a frame carries over IPv4 or IPv6.
type packet struct {
	from     netip.Addr
	protocol byte
	content  []byte // behind the IP header
}

func packetOf(frame []byte) (p packet, ok bool) {
	if len(frame) < etherHeader+ipv4Header {
		return p, false
	}
	ip := frame[etherHeader:]
	switch size := int(ip[0]&0xf) * 4; binary.BigEndian.Uint16(frame[12:]) {
	case unix.ETH_P_IP:
		return packet{netip.AddrFrom4([4]byte(ip[12:16])), ip[9], ip[min(size, len(ip)):]}, true
	case unix.ETH_P_IPV6:
		if len(ip) >= ipv6Header {
			return packet{netip.AddrFrom16([16]byte(ip[8:24])), ip[6], ip[ipv6Header:]}, true
		}
	}
	return p, false
}

// datagram is what a packet of UDP has: its ports and its content, nil if it is none.
func (p packet) datagram() (from, to uint16, content []byte) {
	if p.protocol != unix.IPPROTO_UDP || len(p.content) < udpHeader {
		return 0, 0, nil
	}
	end := min(max(int(binary.BigEndian.Uint16(p.content[4:])), udpHeader), len(p.content)) // a short frame is padded
	return binary.BigEndian.Uint16(p.content), binary.BigEndian.Uint16(p.content[2:]), p.content[udpHeader:end]
}

func pseudoChecksum(from, to netip.Addr, protocol byte, content []byte) uint16 {
	pseudo := append(from.AsSlice(), to.AsSlice()...)
	pseudo = binary.BigEndian.AppendUint32(pseudo, uint32(len(content)))
	pseudo = append(pseudo, 0, 0, 0, protocol)
	return ^sum16(uint32(sum16(0, pseudo)), content)
}

// sum16 is the folded one's complement sum of RFC 1071.
func sum16(sum uint32, b []byte) uint16 {
	for ; len(b) > 1; b = b[2:] {
		sum += uint32(binary.BigEndian.Uint16(b))
	}
	if len(b) == 1 {
		sum += uint32(b[0]) << 8
	}
	for sum > 0xffff {
		sum = sum>>16 + sum&0xffff
	}
	return uint16(sum)
}
