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

	"github.com/keepvip/keepvip/members/envelope"
)

// listener is a UDP socket of one family that hears what is sent to any address of this host, and answers from that address.
type listener struct {
	v4 *ipv4.PacketConn // nil: v6 is it
	v6 *ipv6.PacketConn
}

// listen opens the socket of a family on all addresses, with buffers of that size; 0: as the host has them. Members' sockets, which are on one address each, come before it.
func listen(port uint16, is4 bool, buffer int) (*listener, error) {
	network := "udp6"
	if is4 {
		network = "udp4"
	}
	lc := net.ListenConfig{Control: func(_, _ string, c syscall.RawConn) error {
		var err error
		control := c.Control(func(fd uintptr) { err = setOptions(int(fd), is4, buffer) })
		return errors.Join(control, err)
	}}
	c, err := lc.ListenPacket(context.Background(), network, ":"+strconv.Itoa(int(port)))
	if err != nil {
		return nil, fmt.Errorf("subscription: %w", err)
	}
	l := &listener{}
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
func setOptions(fd int, is4 bool, buffer int) error {
	all, hops := [3]int{unix.IPPROTO_IPV6, unix.IPV6_MULTICAST_ALL, 0}, [3]int{unix.IPPROTO_IPV6, unix.IPV6_UNICAST_HOPS, envelope.HopLimit}
	if is4 {
		all, hops = [3]int{unix.IPPROTO_IP, unix.IP_MULTICAST_ALL, 0}, [3]int{unix.IPPROTO_IP, unix.IP_TTL, envelope.HopLimit}
	}
	for _, o := range [][3]int{{unix.SOL_SOCKET, unix.SO_REUSEPORT, 1}, all, hops} {
		if err := unix.SetsockoptInt(fd, o[0], o[1], o[2]); err != nil {
			return fmt.Errorf("set option %d: %w", o[1], err)
		}
	}
	if buffer == 0 {
		return nil
	}
	for _, o := range [][2]int{{unix.SO_RCVBUFFORCE, unix.SO_RCVBUF}, {unix.SO_SNDBUFFORCE, unix.SO_SNDBUF}} {
		if unix.SetsockoptInt(fd, unix.SOL_SOCKET, o[0], buffer) != nil {
			_ = unix.SetsockoptInt(fd, unix.SOL_SOCKET, o[1], buffer)
		}
	}
	return nil
}

// bufferSize is that of each direction of a member's socket: all workers of a large cluster may ask, and are told, at one moment. The kernel doubles it,
// for what it needs itself of each datagram, and lets a process without the privilege have as much as everybody.
const bufferSize = 2 << 20

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

// send sends all by as few calls as it takes, does not block, and returns what the kernel had no room for: its queue is full when many are told whose
// hosts do not answer. What it refuses for another reason is left out; the error is the newest. Safe from any goroutine.
func (l *listener) send(all []Outgoing) (left []Outgoing, failed error) {
	write := l.writeBatch()
	batch := make([]ipv4.Message, len(all)) // the type is that of ipv6, too
	for i, o := range all {
		if i > 0 && o.From == all[i-1].From {
			batch[i].OOB = batch[i-1].OOB
		} else {
			batch[i].OOB = l.source(o.From)
		}
		batch[i].Buffers, batch[i].Addr = [][]byte{o.Data}, net.UDPAddrFromAddrPort(o.To)
	}
	for sent := 0; sent < len(batch); {
		n, err := write(batch[sent:], unix.MSG_DONTWAIT)
		sent += max(n, 0)
		switch {
		case errors.Is(err, net.ErrClosed):
			return nil, err
		case errors.Is(err, unix.EAGAIN), errors.Is(err, unix.ENOBUFS):
			return all[sent:], err
		case err != nil || n <= 0:
			sent, failed = sent+1, err
		}
	}
	return nil, failed
}

func (l *listener) writeBatch() func([]ipv4.Message, int) (int, error) {
	if l.v4 != nil {
		return l.v4.WriteBatch
	}
	return l.v6.WriteBatch
}

// source has a message leave by that own address.
func (l *listener) source(from netip.Addr) []byte {
	switch {
	case !from.IsValid():
		return nil
	case l.v4 != nil:
		return (&ipv4.ControlMessage{Src: from.AsSlice()}).Marshal()
	}
	return (&ipv6.ControlMessage{Src: from.AsSlice()}).Marshal()
}

func (l *listener) close() error {
	if l.v4 != nil {
		return l.v4.Close()
	}
	return l.v6.Close()
}
