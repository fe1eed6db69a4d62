//go:build linux

package vrrp

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/keepvip/keepvip/internal/base/nonblock"
	"github.com/keepvip/keepvip/internal/base/sockaddr"
)

// ConnConfig describes a [Conn].
type ConnConfig struct {
	Interface net.Interface // Name and Index are used
	Source    netip.Addr    // an address of the interface; its family is the Conn's

	// Peers, if any, are the unicast peers: the group is not joined, and packets from other sources are dropped, until
	// SetFilter names others. They have Source's family; Source itself may be among them.
	Peers []netip.Addr

	// Group is the multicast group without Peers; zero: that of the RFC. Nodes with another one do not hear each other.
	Group netip.Addr

	// MAC is the source of what goes to the group: the virtual MAC of a Virtual Router (RFC 9568, section 7.2). Empty: that of the interface.
	// There are no Peers then.
	MAC net.HardwareAddr
	// Held tells whether this node has the MAC now. What leaves while it has not, as the advertisement before it binds the addresses, comes from that of
	// the interface: a switch would else send to this node, which takes nothing yet. It is asked for each advertisement. With a MAC it is not nil.
	Held func() bool

	// VRIDs are the Virtual Routers whose packets are wanted; nil means all.
	VRIDs []uint8

	// MinTTL is the least time to live or hop limit accepted from a unicast peer, 0 means 255. Anything less lets hosts
	// beyond the link send. Multicast always wants 255 (RFC 9568, section 7.1).
	MinTTL uint8
}

// Validate reports the first field that is wrong.
func (c ConnConfig) Validate() error {
	switch {
	case c.Interface.Index <= 0 || c.Interface.Name == "":
		return fmt.Errorf("vrrp: interface %q with index %d, want a name and a positive index", c.Interface.Name, c.Interface.Index)
	case !c.Source.IsValid() || c.Source.Is4In6() || c.Source.IsUnspecified() || c.Source.IsMulticast():
		return fmt.Errorf("vrrp: source %v, want a unicast IPv4 or IPv6 address", c.Source)
	case c.Group.IsValid() && (!c.Group.IsMulticast() || c.Group.BitLen() != c.Source.BitLen() || c.Group.Zone() != ""):
		return fmt.Errorf("vrrp: group %v, want a multicast address of the source's family (%v)", c.Group, c.Source)
	case len(c.MAC) > 0 && (len(c.MAC) != etherLen || len(c.Peers) > 0):
		return fmt.Errorf("vrrp: MAC %v with %d peers, want one of 6 bytes, and no peers", c.MAC, len(c.Peers))
	case len(c.Peers) > maxAddrs:
		return fmt.Errorf("vrrp: %d peers, want at most %d", len(c.Peers), maxAddrs)
	}
	for _, peer := range c.Peers {
		if peer.BitLen() != c.Source.BitLen() || peer.Is4In6() || peer.IsUnspecified() || peer.IsMulticast() {
			return fmt.Errorf("vrrp: peer %v, want a unicast address of the source's family (%v)", peer, c.Source)
		}
	}
	return nil
}

// group is where advertisements go without peers.
func (c ConnConfig) group() netip.Addr {
	if c.Group.IsValid() {
		return c.Group
	}
	return MulticastGroup(c.Source.Is4())
}

// Conn sends and receives VRRP packets of one address family on one interface. One Conn serves any number of Virtual
// Routers. One goroutine may be in Wait and one in Drain; Write and SetFilter are safe from any. Sending and
// receiving have a socket each; the one that sends receives nothing.
type Conn struct {
	ifindex int
	group   netip.Addr
	filter  filter // as opened; SetFilter does not touch it

	recv, send *os.File
	link       *os.File // for WriteLink; nil without peers or a MAC
	held       func() bool
	mac        net.HardwareAddr // of what goes to the group; empty: that of the interface, and send is no packet socket
	recvRaw    syscall.RawConn
	sendRaw    syscall.RawConn
	linkRaw    syscall.RawConn
	waiter     *waiter

	closed  atomic.Bool
	emptied time.Time // when Drain last saw the queue empty: nothing in it is older
	batch   *batch
}

// Open opens the sockets. It needs CAP_NET_RAW, and the Source must be on the interface and usable (an IPv6 address
// that is still tentative is not). Nothing that arrived before the filter was in place is delivered.
func Open(cfg ConnConfig) (*Conn, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	cfg.Source = cfg.Source.WithZone("")
	c := &Conn{
		ifindex: cfg.Interface.Index,
		group:   cfg.group(),
		mac:     cfg.MAC,
		held:    cfg.Held,
		filter:  newFilter(cfg),
		batch:   newBatch(cfg.Source.Is4()),
	}
	var err error
	if c.send, err = cfg.openSender(); err != nil {
		return nil, fmt.Errorf("vrrp: open the send socket on %s: %w", cfg.Interface.Name, err)
	}
	if c.recv, err = cfg.openReceive(c.filter); err != nil {
		return nil, errors.Join(fmt.Errorf("vrrp: open the receive socket on %s: %w", cfg.Interface.Name, err), c.send.Close())
	}
	c.emptied = time.Now()
	if len(cfg.Peers) > 0 || len(cfg.MAC) > 0 {
		if c.link, err = cfg.openLink(); err != nil {
			return nil, errors.Join(fmt.Errorf("vrrp: open the link's socket on %s: %w", cfg.Interface.Name, err), c.Close())
		}
	}
	if err := c.rawConns(); err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return c, nil
}

func (c *Conn) rawConns() (err error) {
	if c.sendRaw, err = c.send.SyscallConn(); err != nil {
		return fmt.Errorf("vrrp: send socket: %w", err)
	}
	if c.recvRaw, err = c.recv.SyscallConn(); err != nil {
		return fmt.Errorf("vrrp: receive socket: %w", err)
	}
	if c.link != nil {
		if c.linkRaw, err = c.link.SyscallConn(); err != nil {
			return fmt.Errorf("vrrp: socket of the link: %w", err)
		}
	}
	if c.waiter, err = newWaiter(c.recv); err != nil {
		return fmt.Errorf("vrrp: receive socket: %w", err)
	}
	return nil
}

// newFilter copies what it takes from cfg.
func newFilter(cfg ConnConfig) filter {
	f := filter{source: cfg.Source.WithZone(""), minTTL: 255, group: cfg.Group}.wanting(cfg.VRIDs, cfg.Peers)
	if !f.group.IsValid() && len(cfg.Peers) == 0 && cfg.Source.Is6() {
		f.group, f.direct = cfg.group(), true
	}
	if f.peers != nil && cfg.MinTTL != 0 {
		f.minTTL = cfg.MinTTL
	}
	f.odd = f.peers != nil
	return f
}

// Group returns the multicast group: that of the configuration, or 224.0.0.18 or ff02::12 (RFC 9568, section 5.1).
func (c *Conn) Group() netip.Addr { return c.group }

// SetFilter replaces the set of VRIDs whose packets are wanted, nil for all and an empty one for none, and the set of
// sources, nil for any. It is for what several Virtual Routers with different peers want together: each has still to
// look at the source. More than 255 sources count as any. No packet is lost meanwhile; packets that wait already stay.
func (c *Conn) SetFilter(vrids []uint8, peers []netip.Addr) error {
	f := c.filter.wanting(vrids, peers)
	err := c.control(c.recvRaw, func(fd int) error { return attach(fd, f) })
	if err != nil {
		return fmt.Errorf("vrrp: replace the socket filter: %w", err)
	}
	return nil
}

// Write sends one packet from Source to dst, the Group or a peer. It does not block: a full send queue is an error.
func (c *Conn) Write(payload []byte, dst netip.Addr) error {
	if dst.BitLen() != c.filter.source.BitLen() || dst.Is4In6() {
		return fmt.Errorf("vrrp: send to %v: want the family of the source %v", dst, c.filter.source)
	}
	err := c.control(c.sendRaw, func(fd int) error {
		if len(c.mac) > 0 {
			return c.sendFrame(fd, payload, dst)
		}
		return nonblock.Sendto(fd, payload, sockaddr.Of(dst, 0, c.ifindex))
	})
	if err != nil {
		return fmt.Errorf("vrrp: send to %v: %w", dst, err)
	}
	return nil
}

// Wait blocks until a packet or an error waits in the queue. It returns net.ErrClosed after Close.
func (c *Conn) Wait() error {
	if err := c.translate(c.waiter.wait(c.recv)); err != nil {
		return fmt.Errorf("vrrp: wait for a packet: %w", err)
	}
	return nil
}

// Close closes the sockets, which leaves the group, and wakes Wait.
func (c *Conn) Close() error {
	c.closed.Store(true)
	var err error
	if c.waiter != nil {
		err = c.waiter.close()
	}
	if c.link != nil {
		err = errors.Join(err, c.link.Close())
	}
	return errors.Join(err, c.recv.Close(), c.send.Close())
}

// control runs f with the descriptor, and returns net.ErrClosed if there is none any more.
func (c *Conn) control(raw syscall.RawConn, f func(fd int) error) error {
	var err error
	if ctrl := raw.Control(func(fd uintptr) { err = f(int(fd)) }); ctrl != nil {
		return c.translate(ctrl)
	}
	return err
}

// translate replaces what a file's RawConn says after Close, which has no name outside the standard library.
func (c *Conn) translate(err error) error {
	if err != nil && c.closed.Load() {
		return net.ErrClosed
	}
	return err
}
