//go:build linux

// Package nonblock makes the system calls of sockets that never wait, and does not tell Go's scheduler of them. Before a call that may wait the
// scheduler wakes its monitor thread, which then sleeps for tens of microseconds at a time until the process is quiet again. In a daemon that wakes up
// a few dozen times a second this thread takes a fifth of all processor time. A call of this package takes microseconds, so nobody needs the monitor.
// The package has no goroutines.
package nonblock

import (
	"errors"
	"net/netip"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/keepvip/keepvip/internal/base/sockaddr"
)

// Sendto sends b to an address that sockaddr.Of has made, or to a link's address. EAGAIN and ENOBUFS mean that a queue is full, EAFNOSUPPORT that the
// address is of another kind.
func Sendto(fd int, b []byte, to unix.Sockaddr) error {
	switch a := to.(type) {
	case *unix.SockaddrInet4:
		raw := unix.RawSockaddrInet4{Family: unix.AF_INET, Port: sockaddr.NetworkOrder(uint16(a.Port)), Addr: a.Addr}
		return sendto(fd, b, unsafe.Pointer(&raw), unix.SizeofSockaddrInet4)
	case *unix.SockaddrInet6:
		raw := unix.RawSockaddrInet6{Family: unix.AF_INET6, Port: sockaddr.NetworkOrder(uint16(a.Port)), Addr: a.Addr, Scope_id: a.ZoneId}
		return sendto(fd, b, unsafe.Pointer(&raw), unix.SizeofSockaddrInet6)
	case *unix.SockaddrLinklayer:
		raw := unix.RawSockaddrLinklayer{
			Family: unix.AF_PACKET, Protocol: a.Protocol, Ifindex: int32(a.Ifindex), Hatype: a.Hatype, Pkttype: a.Pkttype, Halen: a.Halen, Addr: a.Addr,
		}
		return sendto(fd, b, unsafe.Pointer(&raw), unix.SizeofSockaddrLinklayer)
	}
	return unix.EAFNOSUPPORT
}

func sendto(fd int, b []byte, to unsafe.Pointer, length uintptr) error {
	_, _, errno := unix.RawSyscall6(unix.SYS_SENDTO, uintptr(fd), uintptr(unsafe.Pointer(unsafe.SliceData(b))), uintptr(len(b)),
		unix.MSG_DONTWAIT, uintptr(to), length)
	return failure(errno)
}

// Recvmsg takes one datagram with what the kernel says of it. The sender is the zero AddrPort where it has no address of IP. EAGAIN means that
// nothing waits.
func Recvmsg(fd int, b, oob []byte) (n, oobn int, from netip.AddrPort, err error) {
	var name unix.RawSockaddrAny
	iov := unix.Iovec{Base: unsafe.SliceData(b)}
	iov.SetLen(len(b))
	header := unix.Msghdr{Name: (*byte)(unsafe.Pointer(&name)), Namelen: unix.SizeofSockaddrAny, Iov: &iov, Control: unsafe.SliceData(oob)}
	header.SetIovlen(1)
	header.SetControllen(len(oob))
	r, _, errno := unix.RawSyscall(unix.SYS_RECVMSG, uintptr(fd), uintptr(unsafe.Pointer(&header)), unix.MSG_DONTWAIT)
	if err := failure(errno); err != nil {
		return 0, 0, netip.AddrPort{}, err
	}
	return int(r), int(header.Controllen), addrPort(&name), nil
}

func addrPort(name *unix.RawSockaddrAny) netip.AddrPort {
	switch name.Addr.Family {
	case unix.AF_INET:
		a := (*unix.RawSockaddrInet4)(unsafe.Pointer(name))
		return netip.AddrPortFrom(netip.AddrFrom4(a.Addr), sockaddr.NetworkOrder(a.Port))
	case unix.AF_INET6:
		a := (*unix.RawSockaddrInet6)(unsafe.Pointer(name))
		return netip.AddrPortFrom(netip.AddrFrom16(a.Addr), sockaddr.NetworkOrder(a.Port))
	}
	return netip.AddrPort{}
}

// Ready tells whether an epoll instance has an event, and takes it.
func Ready(epoll int) (bool, error) {
	var event unix.EpollEvent
	for {
		n, _, errno := unix.RawSyscall6(unix.SYS_EPOLL_PWAIT, uintptr(epoll), uintptr(unsafe.Pointer(&event)), 1, 0, 0, 0)
		if err := failure(errno); !errors.Is(err, unix.EINTR) {
			return n == 1 && err == nil, err
		}
	}
}

func failure(errno unix.Errno) error {
	if errno != 0 {
		return errno
	}
	return nil
}
