//go:build linux

package members

import (
	"net"
	"net/netip"

	"golang.org/x/net/ipv4"
	"golang.org/x/net/ipv6"
)

// packetConn is a UDP socket of either family that receives.
type packetConn interface {
	receive() error // ask for the TTL of what comes in
	join(ifi *net.Interface, group netip.Addr) error
	read(b []byte) (n, ttl int, from netip.AddrPort, err error)
	Close() error
}

func newPacketConn(c net.PacketConn, v4 bool) packetConn {
	if v4 {
		return conn4{ipv4.NewPacketConn(c)}
	}
	return conn6{ipv6.NewPacketConn(c)}
}

type conn4 struct{ *ipv4.PacketConn }

func (c conn4) receive() error { return c.SetControlMessage(ipv4.FlagTTL, true) }

func (c conn4) join(ifi *net.Interface, group netip.Addr) error {
	return c.JoinGroup(ifi, &net.UDPAddr{IP: group.AsSlice()})
}

func (c conn4) read(b []byte) (n, ttl int, from netip.AddrPort, err error) {
	n, cm, src, err := c.ReadFrom(b)
	if cm != nil {
		ttl = cm.TTL
	}
	return n, ttl, addrPort(src), err
}

type conn6 struct{ *ipv6.PacketConn }

func (c conn6) receive() error { return c.SetControlMessage(ipv6.FlagHopLimit, true) }

func (c conn6) join(ifi *net.Interface, group netip.Addr) error {
	return c.JoinGroup(ifi, &net.UDPAddr{IP: group.AsSlice()})
}

func (c conn6) read(b []byte) (n, ttl int, from netip.AddrPort, err error) {
	n, cm, src, err := c.ReadFrom(b)
	if cm != nil {
		ttl = cm.HopLimit
	}
	return n, ttl, addrPort(src), err
}

func addrPort(a net.Addr) netip.AddrPort {
	if u, ok := a.(*net.UDPAddr); ok {
		return u.AddrPort()
	}
	return netip.AddrPort{}
}
