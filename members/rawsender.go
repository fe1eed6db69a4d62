//go:build linux

package members

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"net"
	"net/netip"
	"os"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/keepvip/keepvip/internal/base/nonblock"
	"github.com/keepvip/keepvip/internal/base/sockaddr"
	"github.com/keepvip/keepvip/members/envelope"
)

const (
	tosControl = 0xc0 // precedence 6, Internetwork Control, as advertisements have it
	udpHeader  = 8
)

// rawSender puts datagrams on the link by a raw socket: keepvip has the privilege for that, and not the one to bind to a
// low port.
type rawSender struct {
	ifi    net.Interface
	source netip.Addr
	file   *os.File
	raw    syscall.RawConn
}

// openRawSender makes a socket that receives nothing: it is connected to the group, from which no packet comes, so that the
// kernel need not copy the host's other datagrams for it.
func openRawSender(ifi net.Interface, source, group netip.Addr) (*rawSender, error) {
	fd, err := unix.Socket(sockaddr.Family(source), unix.SOCK_RAW|unix.SOCK_CLOEXEC, unix.IPPROTO_UDP)
	if err != nil {
		return nil, fmt.Errorf("raw socket (needs CAP_NET_RAW): %w", err)
	}
	// It is not for the Go netpoller: it never blocks.
	s := &rawSender{ifi: ifi, source: source, file: os.NewFile(uintptr(fd), "members-send-"+ifi.Name)}
	err = firstError(
		func() error { return dropAll(fd) },
		func() error { return unix.BindToDevice(fd, ifi.Name) },
		func() error { return s.configure(fd) },
		func() error { return unix.Bind(fd, sockaddr.Of(source, 0, ifi.Index)) },
		func() error { return unix.Connect(fd, sockaddr.Of(group, 0, ifi.Index)) },
		func() (err error) { s.raw, err = s.file.SyscallConn(); return err },
	)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("send from %v (is it on %s, and usable?): %w", source, ifi.Name, err), s.file.Close())
	}
	return s, nil
}

// dropAll attaches a socket filter that lets nothing in.
func dropAll(fd int) error {
	code := []unix.SockFilter{{Code: unix.BPF_RET | unix.BPF_K, K: 0}}
	return unix.SetsockoptSockFprog(fd, unix.SOL_SOCKET, unix.SO_ATTACH_FILTER, &unix.SockFprog{Len: 1, Filter: &code[0]})
}

func (s *rawSender) configure(fd int) error {
	v4, v6 := unix.IPPROTO_IP, unix.IPPROTO_IPV6
	options := [][3]int{
		{v4, unix.IP_TTL, envelope.HopLimit},
		{v4, unix.IP_MULTICAST_TTL, envelope.HopLimit},
		{v4, unix.IP_MULTICAST_LOOP, 0},
		{v4, unix.IP_TOS, tosControl},
	}
	if s.source.Is6() {
		options = [][3]int{
			{v6, unix.IPV6_UNICAST_HOPS, envelope.HopLimit},
			{v6, unix.IPV6_MULTICAST_HOPS, envelope.HopLimit},
			{v6, unix.IPV6_MULTICAST_LOOP, 0},
			{v6, unix.IPV6_TCLASS, tosControl},
			{v6, unix.IPV6_MULTICAST_IF, s.ifi.Index},
		}
	}
	for _, o := range options {
		if err := unix.SetsockoptInt(fd, o[0], o[1], o[2]); err != nil {
			return fmt.Errorf("set option %d: %w", o[1], err)
		}
	}
	if s.source.Is6() {
		return nil
	}
	return unix.SetsockoptIPMreqn(fd, v4, unix.IP_MULTICAST_IF, &unix.IPMreqn{Ifindex: int32(s.ifi.Index)})
}

// send does not block: a full send queue is an error. Safe from any goroutine.
func (s *rawSender) send(b []byte, to netip.Addr, port uint16) error {
	datagram := appendUDP(make([]byte, 0, udpHeader+len(b)), s.source, to, port, b)
	var failed error
	err := s.raw.Control(func(fd uintptr) {
		failed = nonblock.Sendto(int(fd), datagram, sockaddr.Of(to, 0, s.ifi.Index))
	})
	if err != nil {
		return net.ErrClosed // the only thing that Control says
	}
	return failed
}

func (s *rawSender) close() error { return s.file.Close() }

// appendUDP appends a datagram with its header (RFC 768; for IPv6, RFC 8200 section 8.1).
func appendUDP(b []byte, source, to netip.Addr, port uint16, content []byte) []byte {
	start, length := len(b), udpHeader+len(content)
	b = binary.BigEndian.AppendUint16(b, envelope.SourcePort)
	b = binary.BigEndian.AppendUint16(b, port)
	b = binary.BigEndian.AppendUint16(b, uint16(length))
	b = append(append(b, 0, 0), content...)
	sum := uint32(unix.IPPROTO_UDP) + uint32(length)
	for _, part := range [][]byte{source.AsSlice(), to.AsSlice(), b[start:]} {
		sum += sum16(part)
	}
	for sum > math.MaxUint16 {
		sum = sum>>16 + sum&math.MaxUint16
	}
	// A sum of 0 would say that there is none; the same number, written otherwise, is all ones.
	if sum = ^sum & math.MaxUint16; sum == 0 {
		sum = math.MaxUint16
	}
	binary.BigEndian.PutUint16(b[start+6:], uint16(sum))
	return b
}

// sum16 adds up the 16-bit words of no more than 64 KiB.
func sum16(b []byte) (sum uint32) {
	for ; len(b) > 1; b = b[2:] {
		sum += uint32(binary.BigEndian.Uint16(b))
	}
	if len(b) == 1 {
		sum += uint32(b[0]) << 8
	}
	return sum
}

func firstError(steps ...func() error) error {
	for _, step := range steps {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}
