//go:build linux

package vrrp

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"

	"github.com/keepvip/keepvip/internal/base/sockaddr"
)

const (
	tosControl      = 0xc0    // precedence 6, Internetwork Control: what other routers' adverts carry
	priorityControl = 7       // TC_PRIO_CONTROL; more than 6 needs CAP_NET_ADMIN
	priorityUser    = 6       // the highest that anybody may set
	receiveBuffer   = 1 << 20 // a second of 255 Virtual Routers at 100 ms, and more
	sendBuffer      = 4 << 20 // what the kernel keeps for some ten peers whose MACs are not known: 208 KiB each
	ipv6MultiAll    = 29      // IPV6_MULTICAST_ALL (linux/in6.h), which x/sys does not name
)

// option is one socket option with an integer value.
type option struct {
	name         string
	level, opt   int
	value        int
	unprivileged *option // taken when this one is not permitted
}

// openSend opens the socket that only sends, bound to the source address.
func (c ConnConfig) openSend() (*os.File, error) {
	return c.open("send", func(fd int) error {
		if err := set(fd, append(c.sendOptions(), controlPriority, largeSendBuffer)); err != nil {
			return err
		}
		if err := c.multicastInterface(fd); err != nil {
			return fmt.Errorf("choose the multicast interface: %w", err)
		}
		if err := unix.Bind(fd, sockaddr.Of(c.Source, 0, c.Interface.Index)); err != nil {
			return fmt.Errorf("bind to %v (is it on %s, and usable?): %w", c.Source, c.Interface.Name, err)
		}
		return nil
	})
}

// openReceive opens the socket that only receives. The real filter comes last, behind one that drops everything.
func (c ConnConfig) openReceive(f filter) (*os.File, error) {
	return c.open("receive", func(fd int) error {
		if err := set(fd, c.receiveOptions()); err != nil {
			return err
		}
		if len(c.Peers) == 0 {
			if err := c.join(fd); err != nil {
				return fmt.Errorf("join %v: %w", c.group(), err)
			}
		}
		discard(fd)
		return attach(fd, f)
	})
}

// open makes a raw socket on the interface with a filter that drops everything. It is not for the Go netpoller (see waiter); every call
// says for itself that it does not block.
func (c ConnConfig) open(name string, setup func(fd int) error) (*os.File, error) {
	drop, err := dropAll()
	if err != nil {
		return nil, err
	}
	fd, err := unix.Socket(sockaddr.Family(c.Source), unix.SOCK_RAW|unix.SOCK_CLOEXEC, protocolNumber)
	if err != nil {
		return nil, fmt.Errorf("raw socket (needs CAP_NET_RAW): %w", err)
	}
	err = attachRaw(fd, drop)
	if err == nil {
		if err = unix.BindToDevice(fd, c.Interface.Name); err != nil {
			err = fmt.Errorf("bind to device: %w", err)
		}
	}
	if err == nil {
		err = setup(fd)
	}
	if err != nil {
		return nil, errors.Join(err, unix.Close(fd))
	}
	return os.NewFile(uintptr(fd), "vrrp-"+name+"-"+c.Interface.Name), nil
}

func (c ConnConfig) sendOptions() []option {
	if c.Source.Is4() {
		return []option{
			{name: "IP_TTL", level: unix.IPPROTO_IP, opt: unix.IP_TTL, value: 255},
			{name: "IP_MULTICAST_TTL", level: unix.IPPROTO_IP, opt: unix.IP_MULTICAST_TTL, value: 255},
			{name: "IP_MULTICAST_LOOP", level: unix.IPPROTO_IP, opt: unix.IP_MULTICAST_LOOP, value: 0},
			{name: "IP_TOS", level: unix.IPPROTO_IP, opt: unix.IP_TOS, value: tosControl},
			{name: "IP_MTU_DISCOVER", level: unix.IPPROTO_IP, opt: unix.IP_MTU_DISCOVER, value: unix.IP_PMTUDISC_DONT},
		}
	}
	return []option{
		{name: "IPV6_UNICAST_HOPS", level: unix.IPPROTO_IPV6, opt: unix.IPV6_UNICAST_HOPS, value: 255},
		{name: "IPV6_MULTICAST_HOPS", level: unix.IPPROTO_IPV6, opt: unix.IPV6_MULTICAST_HOPS, value: 255},
		{name: "IPV6_MULTICAST_LOOP", level: unix.IPPROTO_IPV6, opt: unix.IPV6_MULTICAST_LOOP, value: 0},
		{name: "IPV6_TCLASS", level: unix.IPPROTO_IPV6, opt: unix.IPV6_TCLASS, value: tosControl},
		{name: "IPV6_MTU_DISCOVER", level: unix.IPPROTO_IPV6, opt: unix.IPV6_MTU_DISCOVER, value: unix.IPV6_PMTUDISC_DONT},
	}
}

var (
	// controlPriority comes after IP_TOS, which sets it too.
	controlPriority = option{
		name: "SO_PRIORITY", level: unix.SOL_SOCKET, opt: unix.SO_PRIORITY, value: priorityControl,
		unprivileged: &option{name: "SO_PRIORITY", level: unix.SOL_SOCKET, opt: unix.SO_PRIORITY, value: priorityUser},
	}
	// largeSendBuffer is such that what waits for one peer leaves room for the others.
	largeSendBuffer = option{
		name: "SO_SNDBUFFORCE", level: unix.SOL_SOCKET, opt: unix.SO_SNDBUFFORCE, value: sendBuffer,
		unprivileged: &option{name: "SO_SNDBUF", level: unix.SOL_SOCKET, opt: unix.SO_SNDBUF, value: sendBuffer},
	}
)

func (c ConnConfig) receiveOptions() []option {
	common := []option{
		{
			name: "SO_RCVBUFFORCE", level: unix.SOL_SOCKET, opt: unix.SO_RCVBUFFORCE, value: receiveBuffer,
			unprivileged: &option{name: "SO_RCVBUF", level: unix.SOL_SOCKET, opt: unix.SO_RCVBUF, value: receiveBuffer},
		},
		{name: "SO_TIMESTAMPNS", level: unix.SOL_SOCKET, opt: unix.SO_TIMESTAMPNS, value: 1},
	}
	if c.Source.Is4() {
		return append(common, option{name: "IP_MULTICAST_ALL", level: unix.IPPROTO_IP, opt: unix.IP_MULTICAST_ALL, value: 0})
	}
	return append(
		common,
		option{name: "IPV6_MULTICAST_ALL", level: unix.IPPROTO_IPV6, opt: ipv6MultiAll, value: 0},
		option{name: "IPV6_RECVHOPLIMIT", level: unix.IPPROTO_IPV6, opt: unix.IPV6_RECVHOPLIMIT, value: 1},
		option{name: "IPV6_RECVPKTINFO", level: unix.IPPROTO_IPV6, opt: unix.IPV6_RECVPKTINFO, value: 1},
	)
}

func set(fd int, opts []option) error {
	for _, o := range opts {
		err := unix.SetsockoptInt(fd, o.level, o.opt, o.value)
		if errors.Is(err, unix.EPERM) && o.unprivileged != nil {
			o = *o.unprivileged
			err = unix.SetsockoptInt(fd, o.level, o.opt, o.value)
		}
		if err != nil {
			return fmt.Errorf("set %s: %w", o.name, err)
		}
	}
	return nil
}

func (c ConnConfig) multicastInterface(fd int) error {
	index := c.Interface.Index
	if c.Source.Is4() {
		return unix.SetsockoptIPMreqn(fd, unix.IPPROTO_IP, unix.IP_MULTICAST_IF, &unix.IPMreqn{Ifindex: int32(index)})
	}
	return unix.SetsockoptInt(fd, unix.IPPROTO_IPV6, unix.IPV6_MULTICAST_IF, index)
}

func (c ConnConfig) join(fd int) error {
	index := c.Interface.Index
	if c.Source.Is4() {
		m := &unix.IPMreqn{Multiaddr: c.group().As4(), Ifindex: int32(index)}
		return unix.SetsockoptIPMreqn(fd, unix.IPPROTO_IP, unix.IP_ADD_MEMBERSHIP, m)
	}
	m := &unix.IPv6Mreq{Multiaddr: c.group().As16(), Interface: uint32(index)}
	return unix.SetsockoptIPv6Mreq(fd, unix.IPPROTO_IPV6, unix.IPV6_JOIN_GROUP, m)
}

func attach(fd int, f filter) error {
	raw, err := f.assemble()
	if err != nil {
		return err
	}
	return attachRaw(fd, raw)
}

func attachRaw(fd int, raw []bpf.RawInstruction) error {
	code := make([]unix.SockFilter, len(raw))
	for i, in := range raw {
		code[i] = unix.SockFilter{Code: in.Op, Jt: in.Jt, Jf: in.Jf, K: in.K}
	}
	prog := &unix.SockFprog{Len: uint16(len(code)), Filter: &code[0]}
	if err := unix.SetsockoptSockFprog(fd, unix.SOL_SOCKET, unix.SO_ATTACH_FILTER, prog); err != nil {
		return fmt.Errorf("attach the socket filter: %w", err)
	}
	return nil
}

// discard empties the queue of what came in before there was a filter, from any interface.
func discard(fd int) {
	var b [1]byte
	for {
		if _, _, err := unix.Recvfrom(fd, b[:], unix.MSG_DONTWAIT); err != nil && !errors.Is(err, unix.EINTR) {
			return
		}
	}
}
