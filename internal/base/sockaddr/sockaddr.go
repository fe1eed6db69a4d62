// Package sockaddr makes the kernel's form of a socket address out of one of net/netip. It is pure, and has no goroutines.
package sockaddr

import (
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
