//go:build linux

package vrrp

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net/netip"
	"os"

	"golang.org/x/sys/unix"

	"github.com/keepvip/keepvip/internal/base/checksum"
	"github.com/keepvip/keepvip/internal/base/nonblock"
	"github.com/keepvip/keepvip/internal/base/sockaddr"
)

const (
	ipv4Header = 20
	ipv6Header = 40
)

// openLink opens the socket for WriteLink. It receives nothing, and what it sends waits behind no more than advertisements do.
func (c ConnConfig) openLink() (*os.File, error) { return c.openPacket(unix.SOCK_DGRAM) }

// openPacket opens a packet socket that receives nothing: of SOCK_DGRAM the kernel makes the frame's header, of SOCK_RAW its user.
func (c ConnConfig) openPacket(kind int) (*os.File, error) {
	fd, err := unix.Socket(unix.AF_PACKET, kind|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("packet socket (needs CAP_NET_RAW): %w", err)
	}
	if err := set(fd, []option{controlPriority, largeSendBuffer}); err != nil {
		return nil, errors.Join(err, unix.Close(fd))
	}
	if err := unix.Bind(fd, &unix.SockaddrLinklayer{Ifindex: c.Interface.Index}); err != nil {
		return nil, errors.Join(fmt.Errorf("bind the packet socket: %w", err), unix.Close(fd))
	}
	return os.NewFile(uintptr(fd), "vrrp-link"), nil
}

// WriteLink puts one packet from Source to Source on the link, in a frame to the interface's own MAC. It waits for no neighbour: it passes
// what looks at the packets that leave on this link at once, or never. No other host sees it, as a switch or bridge learns that MAC on the
// port where the frame comes in, and does not send it back there. A link that brings it back brings it to a host that refuses its own source.
// What a queue drops has passed, too: that is no error, as it is none for Write.
func (c *Conn) WriteLink(payload []byte) error {
	packet, protocol := c.packet(payload, c.filter.source)
	err := c.control(c.linkRaw, func(fd int) error {
		to, err := ownMAC(fd)
		if err != nil {
			return err
		}
		to.Protocol = protocol
		return nonblock.Sendto(fd, packet, to)
	})
	if err != nil && !errors.Is(err, unix.ENOBUFS) {
		return fmt.Errorf("vrrp: send on the link: %w", err)
	}
	return nil
}

// ownMAC is the MAC that the link of a packet socket has now: it changes with the port of a bond, or by hand.
func ownMAC(fd int) (*unix.SockaddrLinklayer, error) {
	name, err := unix.Getsockname(fd)
	if err != nil {
		return nil, err
	}
	link, ok := name.(*unix.SockaddrLinklayer)
	if !ok {
		return nil, unix.EAFNOSUPPORT
	}
	return link, nil
}

// packet puts an IP header before the payload to dst (RFC 791, RFC 8200), and tells its EtherType in network byte order.
func (c *Conn) packet(payload []byte, dst netip.Addr) (packet []byte, protocol uint16) {
	source := c.filter.source
	if source.Is6() {
		b := make([]byte, ipv6Header, ipv6Header+len(payload))
		binary.BigEndian.PutUint32(b, 6<<28|tosControl<<20)
		binary.BigEndian.PutUint16(b[4:], uint16(len(payload)))
		b[6], b[7] = protocolNumber, 255
		putAddresses(b[8:], source, dst)
		return append(b, payload...), sockaddr.NetworkOrder(unix.ETH_P_IPV6)
	}
	b := make([]byte, ipv4Header, ipv4Header+len(payload))
	b[0], b[1] = 4<<4|ipv4Header/4, tosControl
	binary.BigEndian.PutUint16(b[2:], uint16(ipv4Header+len(payload)))
	b[8], b[9] = 255, protocolNumber
	putAddresses(b[12:], source, dst)
	binary.BigEndian.PutUint16(b[10:], ^checksum.Fold(checksum.Add(0, b)))
	return append(b, payload...), sockaddr.NetworkOrder(unix.ETH_P_IP)
}

func putAddresses(b []byte, source, dst netip.Addr) {
	n := copy(b, source.AsSlice())
	copy(b[n:], dst.AsSlice())
}

const (
	etherLen    = 6
	frameHeader = 2*etherLen + 2
)

// openSender opens the socket that sends advertisements: that of the interface, or with a MAC a packet socket.
func (c ConnConfig) openSender() (*os.File, error) {
	if len(c.MAC) == 0 {
		return c.openSend()
	}
	return c.openPacket(unix.SOCK_RAW)
}

// sendFrame puts one packet to the group on the link, in a frame from the virtual MAC, or that of the interface while this node does not have it. No packet filter of the node's output sees it.
func (c *Conn) sendFrame(fd int, payload []byte, dst netip.Addr) error {
	if !dst.IsMulticast() {
		return unix.EDESTADDRREQ
	}
	mac := []byte(c.mac)
	if !c.held() {
		own, err := ownMAC(fd)
		if err != nil {
			return err
		}
		mac = own.Addr[:etherLen]
	}
	packet, protocol := c.packet(payload, dst)
	to := &unix.SockaddrLinklayer{Ifindex: c.ifindex, Protocol: protocol, Halen: etherLen}
	copy(to.Addr[:], groupMAC(dst))
	frame := make([]byte, 0, frameHeader+len(packet))
	frame = append(append(frame, to.Addr[:etherLen]...), mac...)
	frame = binary.NativeEndian.AppendUint16(frame, protocol)
	return nonblock.Sendto(fd, append(frame, packet...), to)
}

// groupMAC is the Ethernet address of a multicast group (RFC 1112 section 6.4, RFC 2464 section 7).
func groupMAC(group netip.Addr) []byte {
	if group.Is4() {
		a := group.As4()
		return []byte{0x01, 0x00, 0x5e, a[1] & 0x7f, a[2], a[3]}
	}
	a := group.As16()
	return []byte{0x33, 0x33, a[12], a[13], a[14], a[15]}
}
