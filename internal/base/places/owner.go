package places

import (
	"net"
	"net/netip"
)

// Asker names the user of this host that has the other end of a TCP connection, from which it came and to which; "": it is another host's. The
// error is for one that has gone already.
type Asker func(from, to netip.AddrPort) (string, error)

// OwnerOf is who has the other end of a connection, as far as it can be known; "": whoever it was has gone. Without ask the host is.
func OwnerOf(c net.Conn, ask Asker) string {
	from, ok := c.RemoteAddr().(*net.TCPAddr)
	to, also := c.LocalAddr().(*net.TCPAddr)
	if !ok || !also {
		return "unknown"
	}
	if ask != nil {
		if owner, err := ask(plain(from), plain(to)); err != nil || owner != "" {
			return owner
		}
	}
	return Host(from.AddrPort().Addr())
}

// AddressOf is the address at the other end of a TCP connection, of the family that its packets have there; the zero Addr if it has none.
func AddressOf(c net.Conn) netip.Addr {
	if from, ok := c.RemoteAddr().(*net.TCPAddr); ok {
		return plain(from).Addr()
	}
	return netip.Addr{}
}

// plain is an address in the family of the socket at the other end.
func plain(a *net.TCPAddr) netip.AddrPort {
	return netip.AddrPortFrom(a.AddrPort().Addr().Unmap().WithZone(""), uint16(a.Port))
}

// Host is the owner of an address. One host has all of the loopback interface, and may have all of an IPv6 network of 64 bits.
func Host(a netip.Addr) string {
	a = a.Unmap().WithZone("")
	switch {
	case a.IsLoopback():
		return "this host"
	case a.Is6():
		p, _ := a.Prefix(64) // of an address without a zone
		return p.String()
	}
	return a.String()
}
