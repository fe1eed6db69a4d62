package gather

import (
	"context"
	"encoding/binary"
	"errors"
	"math"
	"net"
	"net/netip"
	"sync"
	"syscall"
	"time"

	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"

	"github.com/keepvip/keepvip/internal/base/sockaddr"
	"github.com/keepvip/keepvip/members"
)

// hearMembers notes the members' messages that pass the firewall of this host, until ctx ends: by a raw socket, which gets a copy of what is for
// a keepvip that runs here, and keeps the port from nobody.
func hearMembers(ctx context.Context, wg *sync.WaitGroup, ifi net.Interface, ipv4 bool, port uint16, n *notes) bool {
	fd, err := openUDP(ifi.Name, ipv4, port)
	if err != nil {
		return false
	}
	wg.Go(func() {
		receive(ctx, fd, func(from netip.Addr, b []byte) {
			// What came before the filter was there may be for another port.
			if len(b) >= udpLen && binary.BigEndian.Uint16(b[2:]) == port && !isProbe(b[udpLen:], false) {
				n.spoken(from)
			}
		})
	})
	return true
}

// receive gives take the payload of each IP packet, until ctx ends, and closes the socket.
func receive(ctx context.Context, fd int, take func(from netip.Addr, b []byte)) {
	defer unix.Close(fd)
	buf := make([]byte, frameLen)
	for ctx.Err() == nil {
		length, from, err := unix.Recvfrom(fd, buf, 0)
		switch from := from.(type) {
		case *unix.SockaddrInet4: // with its header
			if head := int(buf[0]&0xf) * 4; head <= length {
				take(netip.AddrFrom4(from.Addr), buf[head:length])
			}
		case *unix.SockaddrInet6:
			take(netip.AddrFrom16(from.Addr), buf[:length])
		default:
			if !errors.Is(err, unix.EAGAIN) {
				<-time.After(readPause)
			}
		}
	}
}

// openUDP opens a raw socket for what comes to a port.
func openUDP(link string, ipv4 bool, port uint16) (int, error) {
	return openRaw(link, ipv4, unix.IPPROTO_UDP, 2, 2, uint32(port))
}

// openProbes opens a raw socket for probes by protocol 112, or for what comes to the members' port.
func openProbes(link string, ipv4, vrrp bool, port uint16) (int, error) {
	if vrrp {
		return openRaw(link, ipv4, protoVRRP, 0, 1, noVRRP)
	}
	return openUDP(link, ipv4, port)
}

// openRaw opens a raw socket on a link for packets of a protocol that have a value at an offset of the payload.
func openRaw(link string, ipv4 bool, protocol int, offset uint32, size int, value uint32) (fd int, err error) {
	family, head := unix.AF_INET6, []bpf.Instruction{bpf.LoadAbsolute{Off: offset, Size: size}} // from the payload on
	if ipv4 {
		family, head = unix.AF_INET, []bpf.Instruction{bpf.LoadMemShift{Off: 0}, bpf.LoadIndirect{Off: offset, Size: size}} // from the IP header on
	}
	if fd, err = unix.Socket(family, unix.SOCK_RAW|unix.SOCK_CLOEXEC, protocol); err != nil {
		return -1, err
	}
	timeout := unix.NsecToTimeval(glance.Nanoseconds())
	err = errors.Join(
		attach(fd, append(head, bpf.JumpIf{Cond: bpf.JumpEqual, Val: value, SkipTrue: 1}, bpf.RetConstant{Val: 0}, bpf.RetConstant{Val: math.MaxUint16})),
		unix.SetsockoptString(fd, unix.SOL_SOCKET, unix.SO_BINDTODEVICE, link),
		unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &timeout),
	)
	if err != nil {
		_ = unix.Close(fd)
		return -1, err
	}
	return fd, nil
}

// openSpeaker opens a socket that sends from own with TTL or hop limit 255.
func openSpeaker(own netip.Addr, vrrp bool) (fd int, err error) {
	kind, protocol := unix.SOCK_DGRAM, unix.IPPROTO_UDP
	if vrrp {
		kind, protocol = unix.SOCK_RAW, protoVRRP
	}
	family, level, option := unix.AF_INET6, unix.IPPROTO_IPV6, unix.IPV6_UNICAST_HOPS
	if own.Is4() {
		family, level, option = unix.AF_INET, unix.IPPROTO_IP, unix.IP_TTL
	}
	if fd, err = unix.Socket(family, kind|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, protocol); err != nil {
		return -1, err
	}
	if err = errors.Join(unix.SetsockoptInt(fd, level, option, 255), unix.Bind(fd, sockaddr.Of(own, 0, 0))); err != nil {
		_ = unix.Close(fd)
		return -1, err
	}
	return fd, nil
}

// attach gives a socket its filter.
func attach(fd int, program []bpf.Instruction) error {
	code, err := bpf.Assemble(program)
	if err != nil {
		return err
	}
	filters := make([]unix.SockFilter, len(code))
	for i, c := range code {
		filters[i] = unix.SockFilter{Code: c.Op, Jt: c.Jt, Jf: c.Jf, K: c.K}
	}
	return unix.SetsockoptSockFprog(fd, unix.SOL_SOCKET, unix.SO_ATTACH_FILTER, &unix.SockFprog{Len: uint16(len(filters)), Filter: &filters[0]})
}

// portTaken takes the members' port for a moment, as keepvip would for good.
func portTaken(ifi net.Interface, source netip.Addr, unicast bool, port uint16) bool {
	conn, err := members.Open(members.ConnConfig{Interface: ifi, Source: source, Port: port, Unicast: unicast})
	if err == nil {
		_ = conn.Close()
	}
	return errors.Is(err, syscall.EADDRINUSE)
}

// etherAll is every protocol, as a packet socket has it.
func etherAll() uint16 {
	return binary.BigEndian.Uint16(binary.NativeEndian.AppendUint16(nil, unix.ETH_P_ALL))
}
