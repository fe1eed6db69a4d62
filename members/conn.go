//go:build linux

package members

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"github.com/keepvip/keepvip/internal/base/sockaddr"
	"github.com/keepvip/keepvip/members/envelope"
	"github.com/keepvip/keepvip/vrrp"
)

// defaultPort is the UDP port on which members talk.
const defaultPort = 9646

// ConnConfig describes a Conn.
type ConnConfig struct {
	Interface net.Interface // Index and Name
	Source    netip.Addr    // own address on Interface: its family is the Conn's
	Port      uint16        // 0: 9646
	Unicast   bool          // hear what is for Source instead of what is for the group
	// Other takes what is no message of members, wherever it comes from, and tells whether it is what it knows. It must not keep b. nil: nobody does.
	Other func(b []byte, from netip.AddrPort, ttl int) bool
}

// Conn sends and receives messages on one interface. It reaches no farther than the link, and hears nobody who has no
// privilege on his host: messages leave with TTL or hop limit 255 and from envelope.SourcePort, and others are refused.
// A Conn that is not for unicast hears the group alone. One goroutine may be in Receive; Send is safe from any.
type Conn struct {
	cfg  ConnConfig
	send *rawSender
	recv *packetConn
}

// Open opens the sockets. It needs CAP_NET_RAW, and the Source must be on the interface and usable. A port that another
// process has is syscall.EADDRINUSE.
func Open(cfg ConnConfig) (*Conn, error) {
	if cfg.Port == 0 {
		cfg.Port = defaultPort
	}
	cfg.Source = cfg.Source.WithZone("")
	if !envelope.Plain(cfg.Source) {
		return nil, fmt.Errorf("members: source %v, want an IPv4 or IPv6 address", cfg.Source)
	}
	c := &Conn{cfg: cfg}
	if err := c.open(); err != nil {
		return nil, errors.Join(fmt.Errorf("members: open the UDP socket on %s: %w", cfg.Interface.Name, err), c.Close())
	}
	return c, nil
}

// open makes a socket that receives, bound to the own address or to the group, and one that sends.
func (c *Conn) open() (err error) {
	if c.send, err = openRawSender(c.cfg.Interface, c.cfg.Source, c.group()); err != nil {
		return err
	}
	if c.cfg.Unicast {
		c.recv, err = c.bind(c.cfg.Source)
		return err
	}
	if c.recv, err = c.bind(c.group()); err != nil {
		return err
	}
	if err := c.recv.join(&c.cfg.Interface, c.group()); err != nil {
		return fmt.Errorf("join %v: %w", c.group(), err)
	}
	return nil
}

// group is that of RFC 9568, whatever group the advertisements go to: switches that watch IGMP and MLD pass on what is for
// it. So members hear each other wherever VRRP works, with no address configured.
func (c *Conn) group() netip.Addr { return vrrp.MulticastGroup(c.cfg.Source.Is4()) }

// bind makes a UDP socket on the interface. Package net would bind to the wildcard address instead of a group, and so
// hear what is sent to any of the host's addresses.
func (c *Conn) bind(a netip.Addr) (*packetConn, error) {
	fd, err := unix.Socket(sockaddr.Family(a), unix.SOCK_DGRAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	file := os.NewFile(uintptr(fd), "members-"+c.cfg.Interface.Name)
	defer file.Close() // FilePacketConn has a descriptor of its own
	if err := share(fd); err != nil {
		return nil, fmt.Errorf("set SO_REUSEPORT: %w", err)
	}
	if err := unix.BindToDevice(fd, c.cfg.Interface.Name); err != nil {
		return nil, fmt.Errorf("bind to device: %w", err)
	}
	if err := unix.Bind(fd, sockaddr.Of(a, c.cfg.Port, c.cfg.Interface.Index)); err != nil {
		return nil, fmt.Errorf("bind to %v: %w", netip.AddrPortFrom(a, c.cfg.Port), err)
	}
	pc, err := net.FilePacketConn(file)
	if err != nil {
		return nil, err
	}
	p, err := newPacketConn(pc, a.Is4())
	if err != nil {
		return nil, errors.Join(fmt.Errorf("prepare to receive: %w", err), pc.Close())
	}
	return p, nil
}

// share lets Conns on several addresses of an interface all hear the group, each everything, and a socket on all addresses be beside them.
// SO_REUSEPORT is for one user's sockets, whereas SO_REUSEADDR would let any user's process in, and give it the datagrams that are for one host alone.
func share(fd int) error { return unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_REUSEPORT, 1) }

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
	if err := c.send.send(b, to, c.cfg.Port); err != nil {
		return fmt.Errorf("members: send to %v: %w", to, err)
	}
	return nil
}

// maxMessage is the length of buffer that Receive wants.
const maxMessage = envelope.MaxMessage + 1

// Arrival says of a message that came in from where, and when the kernel took it in: whoever reads may be late.
type Arrival struct {
	Length int        // of the message in the buffer
	Source netip.Addr // of the IP packet, without a zone
	At     time.Time
	TTL    int // or hop limit; 0 stands for 255
	port   uint16
}

// Receive blocks until a message comes in, and puts it into b. An *envelope.PacketError says that one was refused, net.ErrClosed that
// the Conn was closed; any other error is what the kernel says about the interface, and the Conn may go on to work after it.
func (c *Conn) Receive(b []byte) (Arrival, error) {
	for {
		a, err := c.recv.read(b)
		if err != nil {
			return Arrival{}, fmt.Errorf("members: receive: %w", err)
		}
		switch {
		case a.Source == c.cfg.Source:
			continue
		case c.cfg.Other != nil && c.cfg.Other(b[:a.Length], netip.AddrPortFrom(a.Source, a.port), a.TTL):
			continue
		case a.TTL != envelope.HopLimit && !c.cfg.Unicast: // of unicast a group may take it, or is told whose it is
			return Arrival{Source: a.Source}, &envelope.PacketError{Reason: RejectTTL, Got: a.TTL, Want: envelope.HopLimit}
		case a.port != envelope.SourcePort:
			return Arrival{Source: a.Source}, &envelope.PacketError{Reason: envelope.RejectPort, Got: int(a.port), Want: envelope.SourcePort}
		}
		return a, nil
	}
}

// Behind tells whether a message has arrived that was not read yet. It waits until the one that was read last has been looked at. Safe from any
// goroutine but that in Receive.
func (c *Conn) Behind() bool { return c.recv.behind() }

// Close closes the sockets, which leaves the group, and wakes Receive.
func (c *Conn) Close() error {
	var err error
	if c.send != nil {
		err = c.send.close()
	}
	if c.recv != nil {
		err = errors.Join(err, c.recv.Close())
	}
	return err
}
