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
		defer unix.Close(fd)
		buf := make([]byte, frameLen)
		for ctx.Err() == nil {
			_, from, err := unix.Recvfrom(fd, buf, 0)
			switch from := from.(type) {
			case *unix.SockaddrInet4:
				n.spoken(netip.AddrFrom4(from.Addr))
			case *unix.SockaddrInet6:
				n.spoken(netip.AddrFrom16(from.Addr))
			default:
				if !errors.Is(err, unix.EAGAIN) {
					<-time.After(readPause)
				}
			}
		}
	})
	return true
}

func openUDP(link string, ipv4 bool, port uint16) (fd int, err error) {
	family, head := unix.AF_INET6, []bpf.Instruction{bpf.LoadAbsolute{Off: 2, Size: 2}} // from the UDP header on
	if ipv4 {
		family, head = unix.AF_INET, []bpf.Instruction{bpf.LoadMemShift{Off: 0}, bpf.LoadIndirect{Off: 2, Size: 2}} // from the IP header on
	}
	if fd, err = unix.Socket(family, unix.SOCK_RAW|unix.SOCK_CLOEXEC, unix.IPPROTO_UDP); err != nil {
		return -1, err
	}
	timeout := unix.NsecToTimeval(glance.Nanoseconds())
	err = errors.Join(
		attach(fd, append(head, bpf.JumpIf{Cond: bpf.JumpEqual, Val: uint32(port), SkipTrue: 1}, bpf.RetConstant{Val: 0}, bpf.RetConstant{Val: math.MaxUint16})),
		unix.SetsockoptString(fd, unix.SOL_SOCKET, unix.SO_BINDTODEVICE, link),
		unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &timeout),
	)
	if err != nil {
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
