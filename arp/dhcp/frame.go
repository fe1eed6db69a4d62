package dhcp

import (
	"encoding/binary"
	"net"
	"net/netip"

	"golang.org/x/net/bpf"

	"github.com/keepvip/keepvip/internal/base/checksum"
)

const (
	serverPort, clientPort = 67, 68

	ethernetLen = 14
	ipv4Len     = 20
	udpLen      = 8
	udp         = 17
	typeIPv4    = 0x0800
	fragment    = 0x3fff // More Fragments, and the offset
)

var (
	everybody    = netip.AddrFrom4([4]byte{255, 255, 255, 255})
	everybodyMAC = net.HardwareAddr{255, 255, 255, 255, 255, 255}
)

// frame puts a message to a server into a frame. A request with ciaddr comes from that address, every other from none (RFC 2131 section 4.1).
func frame(mac net.HardwareAddr, r Outgoing) []byte {
	from, to, via := netip.IPv4Unspecified(), everybody, everybodyMAC
	if r.Client.Is4() {
		from = r.Client
	}
	if r.To.Is4() && len(r.Via) == len(via) {
		to, via = r.To, r.Via
	}
	payload := r.marshal(mac)
	b := append(append(append(make([]byte, 0, ethernetLen+ipv4Len+udpLen+len(payload)), via...), mac...), typeIPv4>>8, typeIPv4&0xff)
	ip := make([]byte, ipv4Len)
	ip[0], ip[8], ip[9] = 0x45, 64, udp
	binary.BigEndian.PutUint16(ip[2:], uint16(ipv4Len+udpLen+len(payload)))
	copy(ip[12:], from.AsSlice())
	copy(ip[16:], to.AsSlice())
	binary.BigEndian.PutUint16(ip[10:], ^checksum.Fold(checksum.Add(0, ip)))
	datagram := binary.BigEndian.AppendUint16(nil, clientPort)
	datagram = binary.BigEndian.AppendUint16(datagram, serverPort)
	datagram = binary.BigEndian.AppendUint16(datagram, uint16(udpLen+len(payload)))
	datagram = append(append(datagram, 0, 0), payload...)
	pseudo := checksum.Add(udp+uint32(len(datagram)), ip[12:])
	sum := ^checksum.Fold(checksum.Add(pseudo, datagram))
	if sum == 0 {
		sum = 0xffff // 0 says that there is none (RFC 768)
	}
	binary.BigEndian.PutUint16(datagram[6:], sum)
	return append(append(b, ip...), datagram...)
}

// parseFrame reads a frame with an answer of a server. Checksums are not looked at: a server on the same machine leaves them to a network card that
// there is not.
func parseFrame(b []byte) (Reply, bool) {
	if len(b) < ethernetLen+ipv4Len || binary.BigEndian.Uint16(b[12:]) != typeIPv4 {
		return Reply{}, false
	}
	via, ip := net.HardwareAddr(b[6:12]), b[ethernetLen:]
	header, total := int(ip[0]&0x0f)*4, int(binary.BigEndian.Uint16(ip[2:]))
	if ip[0]>>4 != 4 || header < ipv4Len || total < header+udpLen || total > len(ip) ||
		ip[9] != udp || binary.BigEndian.Uint16(ip[6:])&fragment != 0 {
		return Reply{}, false
	}
	datagram := ip[header:total]
	size := int(binary.BigEndian.Uint16(datagram[4:]))
	if size < udpLen || size > len(datagram) ||
		binary.BigEndian.Uint16(datagram) != serverPort || binary.BigEndian.Uint16(datagram[2:]) != clientPort {
		return Reply{}, false
	}
	m, err := parse(datagram[udpLen:size])
	return Reply{Message: m, Via: via}, err == nil
}

// answers passes frames to the port of clients. Frames of a VLAN belong to another interface.
func answers() ([]bpf.RawInstruction, error) {
	return bpf.Assemble([]bpf.Instruction{
		bpf.LoadExtension{Num: bpf.ExtVLANTagPresent},
		bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: 0, SkipTrue: 8},
		bpf.LoadAbsolute{Off: ethernetLen + 9, Size: 1},
		bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: udp, SkipTrue: 6},
		bpf.LoadAbsolute{Off: ethernetLen + 6, Size: 2},
		bpf.JumpIf{Cond: bpf.JumpBitsSet, Val: fragment, SkipTrue: 4},
		bpf.LoadMemShift{Off: ethernetLen},
		bpf.LoadIndirect{Off: ethernetLen + 2, Size: 2},
		bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: clientPort, SkipTrue: 1},
		bpf.RetConstant{Val: frameLen},
		bpf.RetConstant{Val: 0},
	})
}
