// Package sockaddr makes the kernel's form of a socket address out of one of net/netip. It is pure, and has no goroutines.
package sockaddr

import (
	"encoding/binary"
	"net/netip"

	"golang.org/x/sys/unix"
)

// Of is the socket address of a and a port. A link-local address and a group get the scope that they need: the interface of that index, 0 for none.
func Of(a netip.Addr, port uint16, ifindex int) unix.Sockaddr {
	if a.Is4() {
		return &unix.SockaddrInet4{Addr: a.As4(), Port: int(port)}
	}
	sa := &unix.SockaddrInet6{Addr: a.As16(), Port: int(port)}
	if a.IsLinkLocalUnicast() || a.IsMulticast() {
		sa.ZoneId = uint32(ifindex)
	}
	return sa
}

// Family is that of a socket for the address.
func Family(a netip.Addr) int {
	if a.Is4() {
		return unix.AF_INET
	}
	return unix.AF_INET6
}

// NetworkOrder is the number whose bytes in memory are v in network order, as the kernel has a port or a frame's type in its structures; and the reverse.
func NetworkOrder(v uint16) uint16 {
	return binary.NativeEndian.Uint16([]byte{byte(v >> 8), byte(v)})
}
