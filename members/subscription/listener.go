//go:build linux

package subscription

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strconv"
	"syscall"

	"golang.org/x/net/ipv4"
	"golang.org/x/net/ipv6"
	"golang.org/x/sys/unix"
)

// listener is a UDP socket of one family that hears what is sent to any address of this host, and answers from that address.
type listener struct {
	v4  *ipv4.PacketConn // nil: v6 is it
	v6  *ipv6.PacketConn
	raw syscall.RawConn // to send by
}

// listen opens the socket of a family on all addresses. Members' sockets, which are on one address each, come before it.
func listen(port uint16, is4 bool) (*listener, error) {
	network := "udp6"
	if is4 {
		network = "udp4"
	}
	lc := net.ListenConfig{Control: func(_, _ string, c syscall.RawConn) error {
		var err error
		control := c.Control(func(fd uintptr) { err = setOptions(int(fd), is4) })
		return errors.Join(control, err)
	}}
	c, err := lc.ListenPacket(context.Background(), network, ":"+strconv.Itoa(int(port)))
	if err != nil {
		return nil, fmt.Errorf("subscription: %w", err)
	}
	l := &listener{}
	if l.raw, err = c.(syscall.Conn).SyscallConn(); err != nil {
		return nil, errors.Join(fmt.Errorf("subscription: %w", err), c.Close())
	}
	if is4 {
		l.v4 = ipv4.NewPacketConn(c)
		err = l.v4.SetControlMessage(ipv4.FlagTTL|ipv4.FlagDst, true)
	} else {
		l.v6 = ipv6.NewPacketConn(c)
		err = l.v6.SetControlMessage(ipv6.FlagHopLimit|ipv6.FlagDst|ipv6.FlagInterface, true)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("subscription: %w", err), c.Close())
	}
	return l, nil
}

// setOptions shares the port with the members' sockets of this user alone, and leaves what is for their groups to them.
func setOptions(fd int, is4 bool) error {
	all, hops := [3]int{unix.IPPROTO_IPV6, unix.IPV6_MULTICAST_ALL, 0}, [3]int{unix.IPPROTO_IPV6, unix.IPV6_UNICAST_HOPS, hopLimit}
	if is4 {
		all, hops = [3]int{unix.IPPROTO_IP, unix.IP_MULTICAST_ALL, 0}, [3]int{unix.IPPROTO_IP, unix.IP_TTL, hopLimit}
	}
	for _, o := range [][3]int{{unix.SOL_SOCKET, unix.SO_REUSEPORT, 1}, all, hops} {
		if err := unix.SetsockoptInt(fd, o[0], o[1], o[2]); err != nil {
			return fmt.Errorf("set option %d: %w", o[1], err)
		}
	}
	return nil
}

// receive waits for a datagram. One goroutine may be in it.
func (l *listener) receive(b []byte) (Packet, error) {
	var n int
	var from net.Addr
	var err error
	in := Packet{}
	var to net.IP
	var index int
	if l.v4 != nil {
		var cm *ipv4.ControlMessage
		if n, cm, from, err = l.v4.ReadFrom(b); err == nil && cm != nil {
			in.TTL, to = cm.TTL, cm.Dst.To4()
		}
	} else {
		var cm *ipv6.ControlMessage
		if n, cm, from, err = l.v6.ReadFrom(b); err == nil && cm != nil {
			in.TTL, to, index = cm.HopLimit, cm.Dst, cm.IfIndex
		}
	}
	if err != nil {
		return Packet{}, err
	}
	in.Data = b[:n]
	if a, ok := from.(*net.UDPAddr); ok {
		in.From = netip.AddrPortFrom(a.AddrPort().Addr().Unmap(), uint16(a.Port))
	}
	in.To, _ = netip.AddrFromSlice(to)
	if in.To.IsLinkLocalUnicast() && in.To.Is6() {
		in.To = in.To.WithZone(strconv.Itoa(index))
	}
	return in, nil
}

// send does not block: a full queue is an error, as the socket's is when many are told whose hosts do not answer. Safe from any goroutine.
func (l *listener) send(o Outgoing) error {
	var source []byte
	switch {
	case !o.From.IsValid():
	case l.v4 != nil:
		source = (&ipv4.ControlMessage{Src: o.From.AsSlice()}).Marshal()
	default:
		source = (&ipv6.ControlMessage{Src: o.From.AsSlice()}).Marshal()
	}
	to, err := sockaddr(o.To)
	if err != nil {
		return err
	}
	var failed error
	err = l.raw.Control(func(fd uintptr) {
		failed = unix.Sendmsg(int(fd), o.Data, source, to, unix.MSG_DONTWAIT)
	})
	if err != nil {
		return net.ErrClosed // the only thing that Control says
	}
	return failed
}

func sockaddr(to netip.AddrPort) (unix.Sockaddr, error) {
	if to.Addr().Is4() {
		return &unix.SockaddrInet4{Addr: to.Addr().As4(), Port: int(to.Port())}, nil
	}
	out := &unix.SockaddrInet6{Addr: to.Addr().As16(), Port: int(to.Port())}
	if zone := to.Addr().Zone(); zone != "" {
		ifi, err := net.InterfaceByName(zone)
		if err != nil {
			return nil, err
		}
		out.ZoneId = uint32(ifi.Index)
	}
	return out, nil
}

func (l *listener) close() error {
	if l.v4 != nil {
		return l.v4.Close()
	}
	return l.v6.Close()
}
