//go:build linux

package members

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"

	"golang.org/x/sys/unix"
)

// DefaultPort is the UDP port on which members talk.
const DefaultPort = 9646

// Messages go where the advertisements go, to the groups of RFC 9568, section 5.1: switches that watch IGMP and MLD pass
// on what is for these groups, so that members hear each other wherever VRRP works, with no address configured.
var (
	group4 = netip.AddrFrom4([4]byte{224, 0, 0, 18})
	group6 = netip.AddrFrom16([16]byte{0: 0xff, 1: 0x02, 15: 0x12})
)

// ConnConfig describes a Conn.
type ConnConfig struct {
	Interface net.Interface // Index and Name
	Source    netip.Addr    // own address on Interface: its family is the Conn's
	Port      uint16        // 0: DefaultPort
	Unicast   bool          // hear what is for Source instead of what is for the group
}

// Conn sends and receives messages on one interface. It reaches no farther than the link: messages leave with TTL or
// hop limit 255 and are refused with less, and a Conn that is not for unicast hears the group alone. One goroutine may
// be in Receive; Send is safe from any.
type Conn struct {
	cfg        ConnConfig
	send, recv packetConn
}

// Open opens the sockets. It needs CAP_NET_RAW on kernels before 5.7, and the Source must be on the interface.
func Open(cfg ConnConfig) (*Conn, error) {
	if cfg.Port == 0 {
		cfg.Port = DefaultPort
	}
	cfg.Source = cfg.Source.WithZone("")
	if !plain(cfg.Source) {
		return nil, fmt.Errorf("members: source %v, want an IPv4 or IPv6 address", cfg.Source)
	}
	c := &Conn{cfg: cfg}
	if err := c.open(); err != nil {
		return nil, errors.Join(fmt.Errorf("members: open the UDP socket on %s: %w", cfg.Interface.Name, err), c.Close())
	}
	return c, nil
}

// open makes one socket for unicast, and for multicast one that is bound to the group and one that only sends.
func (c *Conn) open() (err error) {
	if c.cfg.Unicast {
		if c.recv, err = c.bind(c.cfg.Source, c.cfg.Port); err != nil {
			return err
		}
		c.send = c.recv
		return c.recv.receive()
	}
	group := c.group()
	if c.recv, err = c.bind(group, c.cfg.Port); err != nil {
		return err
	}
	if err := c.recv.receive(); err != nil {
		return err
	}
	if err := c.recv.join(&c.cfg.Interface, group); err != nil {
		return fmt.Errorf("join %v: %w", group, err)
	}
	c.send, err = c.bind(c.cfg.Source, 0)
	return err
}

// group is the one of the Conn's family.
func (c *Conn) group() netip.Addr {
	if c.cfg.Source.Is6() {
		return group6
	}
	return group4
}

// scoped gives link-local addresses, and groups, the zone that they need.
func (c *Conn) scoped(a netip.Addr) netip.Addr {
	if a.Is6() && (a.IsLinkLocalUnicast() || a.IsMulticast()) {
		return a.WithZone(c.cfg.Interface.Name)
	}
	return a
}

// bind makes a UDP socket on the interface. Package net would bind to the wildcard address instead of a group, and so
// hear what is sent to any of the host's addresses.
func (c *Conn) bind(a netip.Addr, port uint16) (packetConn, error) {
	domain := unix.AF_INET
	if a.Is6() {
		domain = unix.AF_INET6
	}
	fd, err := unix.Socket(domain, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	file := os.NewFile(uintptr(fd), "members-"+c.cfg.Interface.Name)
	defer file.Close() // FilePacketConn has a descriptor of its own
	if err := unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_REUSEADDR, 1); err != nil {
		return nil, fmt.Errorf("set SO_REUSEADDR: %w", err)
	}
	if err := unix.BindToDevice(fd, c.cfg.Interface.Name); err != nil {
		return nil, fmt.Errorf("bind to device: %w", err)
	}
	if err := unix.Bind(fd, c.sockaddr(a, port)); err != nil {
		return nil, fmt.Errorf("bind to %v (is it on %s, and usable?): %w", netip.AddrPortFrom(a, port), c.cfg.Interface.Name, err)
	}
	pc, err := net.FilePacketConn(file)
	if err != nil {
		return nil, err
	}
	p := newPacketConn(pc, a.Is4())
	if err := p.configure(&c.cfg.Interface); err != nil {
		return nil, errors.Join(err, p.Close())
	}
	return p, nil
}

func (c *Conn) sockaddr(a netip.Addr, port uint16) unix.Sockaddr {
	if a.Is4() {
		return &unix.SockaddrInet4{Addr: a.As4(), Port: int(port)}
	}
	sa := &unix.SockaddrInet6{Addr: a.As16(), Port: int(port)}
	if a.IsLinkLocalUnicast() || a.IsMulticast() {
		sa.ZoneId = uint32(c.cfg.Interface.Index)
	}
	return sa
}

// Send sends one message to each of these; to none means to the group. Of several errors all are told.
func (c *Conn) Send(b []byte, to ...netip.Addr) error {
	if len(to) == 0 {
		return c.sendTo(b, c.group())
	}
	var errs []error
	for _, a := range to {
		errs = append(errs, c.sendTo(b, a))
	}
	return errors.Join(errs...)
}

func (c *Conn) sendTo(b []byte, to netip.Addr) error {
	if err := c.send.write(b, netip.AddrPortFrom(c.scoped(to), c.cfg.Port)); err != nil {
		return fmt.Errorf("members: send to %v: %w", to, err)
	}
	return nil
}

// MaxMessage is the length of buffer that Receive wants.
const MaxMessage = maxMessage + 1

// Receive blocks until a message comes in, puts it into b, and returns its length and where it came from. A *PacketError
// says that one was refused, net.ErrClosed that the Conn was closed; any other error is what the kernel says about the
// interface, and the Conn may go on to work after it.
func (c *Conn) Receive(b []byte) (int, netip.Addr, error) {
	for {
		n, ttl, from, err := c.recv.read(b)
		if err != nil {
			return 0, netip.Addr{}, fmt.Errorf("members: receive: %w", err)
		}
		source := from.Addr().Unmap().WithZone("")
		switch {
		case source == c.cfg.Source:
			continue
		case ttl != 255:
			return 0, source, &PacketError{Reason: RejectTTL, Got: ttl, Want: 255}
		}
		return n, source, nil
	}
}

// Close closes the sockets, which leaves the group, and wakes Receive.
func (c *Conn) Close() error {
	var errs []error
	for _, p := range []packetConn{c.recv, c.send} {
		if p != nil {
			if err := p.Close(); !errors.Is(err, net.ErrClosed) {
				errs = append(errs, err)
			}
		}
	}
	return errors.Join(errs...)
}
