//go:build linux

package vrrp

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"net"
	"net/netip"
	"os"
	"time"

	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"

	"github.com/keepvip/keepvip/internal/base/sockaddr"
)

const (
	ethernetHeader = 14
	// overheardLen is longer than an advertisement with as many addresses as there can be in one frame.
	overheardLen = 1514
	// mostOverheard bounds the frames that Overhear looks at: a host that sends nonsense is not understood by hearing more of it.
	mostOverheard = 64
)

// Overheard is what an advertisement says of its sender that belongs to no Virtual Router of this node.
type Overheard struct {
	Source                  netip.Addr
	Version, VRID, Priority uint8
}

// Overhear waits for an advertisement in a frame from mac on ifi, of the address family told by v4, whatever its VRID, version, peers
// and addresses are. What it says is for an operator to read: the sender can be anybody. It reads a packet socket of its own, of which the filter
// passes nothing but VRRP of that MAC. ifi's Index is used. It needs CAP_NET_RAW, and ends with ctx's error.
func Overhear(ctx context.Context, ifi net.Interface, mac net.HardwareAddr, v4 bool) (Overheard, error) {
	if len(mac) != 6 {
		return Overheard{}, fmt.Errorf("vrrp: overhear %v: want a MAC of 6 bytes", mac)
	}
	sock, err := openOverhear(ifi.Index, mac, v4)
	if err != nil {
		return Overheard{}, fmt.Errorf("vrrp: overhear %v on %s: %w", mac, ifi.Name, err)
	}
	defer sock.Close()
	defer context.AfterFunc(ctx, func() { _ = sock.SetReadDeadline(time.Unix(1, 0)) })()
	buf := make([]byte, overheardLen)
	for range mostOverheard {
		n, err := sock.Read(buf)
		switch {
		case ctx.Err() != nil:
			return Overheard{}, ctx.Err()
		case errors.Is(err, unix.ENETDOWN): // said once
			continue
		case err != nil:
			return Overheard{}, fmt.Errorf("vrrp: overhear %v on %s: %w", mac, ifi.Name, err)
		}
		if o, err := parseOverheard(buf[:n], v4); err == nil {
			return o, nil
		}
	}
	return Overheard{}, fmt.Errorf("vrrp: overhear %v on %s: %d frames, and none of them is an advertisement", mac, ifi.Name, mostOverheard)
}

// openOverhear binds the socket when its filter is in place. It takes the frames for the group in also when nobody here has joined it.
func openOverhear(index int, mac net.HardwareAddr, v4 bool) (*os.File, error) {
	fd, err := unix.Socket(unix.AF_PACKET, unix.SOCK_RAW|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
	if err != nil {
		return nil, fmt.Errorf("packet socket (needs CAP_NET_RAW): %w", err)
	}
	protocol, group := uint16(unix.ETH_P_IPV6), unix.PacketMreq{Ifindex: int32(index), Type: unix.PACKET_MR_MULTICAST, Alen: 6, Address: [8]uint8{0x33, 0x33, 0, 0, 0, 0x12}}
	if v4 {
		protocol, group.Address = unix.ETH_P_IP, [8]uint8{0x01, 0x00, 0x5e, 0, 0, 0x12}
	}
	code, err := bpf.Assemble(overhearFilter(mac, v4))
	if err == nil {
		err = attachRaw(fd, code)
	}
	if err == nil {
		err = unix.Bind(fd, &unix.SockaddrLinklayer{Ifindex: index, Protocol: sockaddr.NetworkOrder(protocol)})
	}
	if err == nil {
		err = unix.SetsockoptPacketMreq(fd, unix.SOL_PACKET, unix.PACKET_ADD_MEMBERSHIP, &group)
	}
	if err != nil {
		return nil, errors.Join(err, unix.Close(fd))
	}
	return os.NewFile(uintptr(fd), "vrrp-overhear"), nil
}

// overhearFilter passes frames of VRRP from mac. It sees them from the Ethernet header on.
func overhearFilter(mac net.HardwareAddr, v4 bool) []bpf.Instruction {
	protocol := uint32(ethernetHeader + 6) // next header
	if v4 {
		protocol = ethernetHeader + 9
	}
	refuse := bpf.RetConstant{Val: 0}
	return []bpf.Instruction{
		bpf.LoadExtension{Num: bpf.ExtVLANTagPresent}, // frames of a VLAN belong to another interface
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: 0, SkipTrue: 1},
		refuse,
		bpf.LoadAbsolute{Off: 6, Size: 4},
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: binary.BigEndian.Uint32(mac), SkipTrue: 1},
		refuse,
		bpf.LoadAbsolute{Off: 10, Size: 2},
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: uint32(binary.BigEndian.Uint16(mac[4:])), SkipTrue: 1},
		refuse,
		bpf.LoadAbsolute{Off: protocol, Size: 1},
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: protocolNumber, SkipTrue: 1},
		refuse,
		bpf.RetConstant{Val: math.MaxUint16},
	}
}

// parseOverheard reads a frame. Hop limit, length and checksum come before what the advertisement says; a signature is not verified.
func parseOverheard(frame []byte, v4 bool) (Overheard, error) {
	d, err := datagramOf(frame, v4)
	if err != nil {
		return Overheard{}, err
	}
	a, _, err := parseUnverified(d.Payload, d.Source, d.Destination)
	if err != nil {
		return Overheard{}, err
	}
	return Overheard{Source: d.Source, Version: a.Version, VRID: a.VRID, Priority: a.Priority}, nil
}

var errNoAdvertisement = errors.New("vrrp: the frame has no advertisement")

// datagramOf takes the headers off.
func datagramOf(frame []byte, v4 bool) (Datagram, error) {
	if len(frame) < ethernetHeader {
		return Datagram{}, errNoAdvertisement
	}
	b := frame[ethernetHeader:]
	d, ok := Datagram{}, false
	if v4 {
		if d, ok = datagram4(b); ok {
			ok = b[9] == protocolNumber
		}
	} else {
		d, ok = datagram6(b)
	}
	if !ok || d.TTL != 255 {
		return Datagram{}, errNoAdvertisement
	}
	return d, nil
}

// datagram6 takes an IPv6 header off, behind which is VRRP.
func datagram6(b []byte) (Datagram, bool) {
	if len(b) < ipv6Header || b[0]>>4 != 6 || b[6] != protocolNumber {
		return Datagram{}, false
	}
	end := ipv6Header + int(binary.BigEndian.Uint16(b[4:]))
	if end > len(b) {
		return Datagram{}, false
	}
	return Datagram{
		Source:      netip.AddrFrom16([16]byte(b[8:24])),
		Destination: netip.AddrFrom16([16]byte(b[24:40])),
		TTL:         int(b[7]),
		Payload:     b[ipv6Header:end],
	}, true
}
