package arp

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/mdlayher/packet"
	"golang.org/x/sys/unix"

	"github.com/keepvip/keepvip/internal/base/nonblock"
)

var (
	// ErrNotEthernet: the link has no Ethernet address, so nobody on it can be told anything.
	ErrNotEthernet = errors.New("not an Ethernet link")
	// ErrGone: the interface was deleted. A new one of the same name needs a new Conn.
	ErrGone = errors.New("the interface is gone")
)

// Conn sends announcements on one interface. It may be used from several goroutines.
type Conn struct {
	ifi  net.Interface
	sock *packet.Conn
	raw  syscall.RawConn
}

// Open makes a socket on ifi, of which Index and Name are used. The interface may be renamed, go down and up, and change its MAC under an
// open Conn; deleted, it is gone for good. It needs CAP_NET_RAW; the error wraps ErrNotEthernet where that is the cause.
func Open(ifi *net.Interface) (*Conn, error) {
	// Protocol 0 receives nothing: a socket that nobody reads must not fill up.
	c, err := openConn(ifi, 0, nil, (*Conn).prioritise)
	if err != nil {
		return nil, fmt.Errorf("arp: open %s: %w", ifi.Name, err)
	}
	return c, nil
}

// openConn makes a socket on an Ethernet link.
func openConn(ifi *net.Interface, protocol int, cfg *packet.Config, prepare func(*Conn) error) (*Conn, error) {
	sock, err := packet.Listen(ifi, packet.Raw, protocol, cfg)
	if err != nil {
		return nil, privilege(err)
	}
	c := &Conn{ifi: *ifi, sock: sock}
	if c.raw, err = sock.SyscallConn(); err == nil {
		_, err = c.mac()
	}
	if err == nil {
		err = prepare(c)
	}
	if err != nil {
		_ = sock.Close()
		return nil, err
	}
	return c, nil
}

// Close releases the socket.
func (c *Conn) Close() error { return c.sock.Close() }

// Announce tells the link that this interface answers for addrs, now, with the MAC that the interface has now. Each IPv4 address goes out
// as a gratuitous ARP request and as a reply; each IPv6 address as an unsolicited neighbour advertisement, whose Router flag says whether
// this interface forwards (RFC 4861 4.4). One frame that cannot be sent does not keep the others back; the error then says how many failed
// and why the first did. It wraps ErrGone if the interface was deleted.
func (c *Conn) Announce(addrs ...netip.Addr) error {
	if err := c.announce(addrs); err != nil {
		return fmt.Errorf("arp: announce on %s: %w", c.ifi.Name, err)
	}
	return nil
}

func (c *Conn) announce(addrs []netip.Addr) error {
	mac, err := c.mac()
	if err != nil {
		return err
	}
	router := slices.ContainsFunc(addrs, netip.Addr.Is6) && forwarding(c.ifi.Name)
	frames, err := announcement(mac, router, addrs)
	if err != nil {
		return err
	}
	return c.send(frames)
}

const (
	// queueRetry is how long to wait for room in the interface's queue, and queueTries how often for one frame.
	queueRetry = time.Millisecond
	queueTries = 20
)

// send writes all frames in one stay on the socket. A queue that is full is waited for, but not for long: an announcement is repeated anyway.
func (c *Conn) send(frames [][]byte) error {
	var failed int
	var first error
	next, tries := 0, 0
	err := c.raw.Write(func(fd uintptr) bool {
		for ; next < len(frames); next++ {
			err := c.sendOne(int(fd), frames[next])
			for ; errors.Is(err, unix.ENOBUFS) && tries < queueTries; tries++ {
				time.Sleep(queueRetry)
				err = c.sendOne(int(fd), frames[next])
			}
			switch {
			case errors.Is(err, unix.EAGAIN):
				return false
			case err != nil:
				if failed++; first == nil {
					first = err
				}
			}
		}
		return true
	})
	switch {
	case err != nil:
		return err
	case errors.Is(first, unix.ENXIO) || errors.Is(first, unix.ENODEV):
		return ErrGone
	case first != nil:
		return fmt.Errorf("%d of %d frames: %w", failed, len(frames), os.NewSyscallError("sendto", first))
	}
	return nil
}

func (c *Conn) sendOne(fd int, frame []byte) error {
	// The frame's type in network order, in the host's memory order: what the link-layer socket address holds.
	to := &unix.SockaddrLinklayer{Ifindex: c.ifi.Index, Protocol: binary.NativeEndian.Uint16(frame[12:]), Halen: 6}
	copy(to.Addr[:], frame[:6])
	err := nonblock.Sendto(fd, frame, to)
	if errors.Is(err, unix.ENETDOWN) || errors.Is(err, unix.EINTR) {
		// A link that went down leaves this error on the socket for the next caller, who may come when it is long up again.
		err = nonblock.Sendto(fd, frame, to)
	}
	return err
}

// mac is the interface's Ethernet address at this moment.
func (c *Conn) mac() (net.HardwareAddr, error) { return hardwareAddr(c.raw) }

func hardwareAddr(raw syscall.RawConn) (net.HardwareAddr, error) {
	var sa unix.Sockaddr
	var inner error
	if err := raw.Control(func(fd uintptr) { sa, inner = unix.Getsockname(int(fd)) }); err != nil {
		return nil, err
	}
	ll, ok := sa.(*unix.SockaddrLinklayer)
	switch {
	case inner != nil:
		return nil, os.NewSyscallError("getsockname", inner)
	case !ok || ll.Ifindex <= 0:
		return nil, ErrGone
	case ll.Hatype != unix.ARPHRD_ETHER || ll.Halen != 6:
		return nil, fmt.Errorf("%w (hardware type %d, address of %d bytes)", ErrNotEthernet, ll.Hatype, ll.Halen)
	}
	return slices.Clone(ll.Addr[:6]), nil
}

// prioritise puts announcements before other traffic in the queue of the interface (TC_PRIO_CONTROL).
func (c *Conn) prioritise() error {
	const control = 7
	var inner error
	err := c.raw.Control(func(fd uintptr) { inner = unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_PRIORITY, control) })
	return errors.Join(err, os.NewSyscallError("setsockopt", inner))
}

// forwarding tells whether the kernel would itself set the Router flag in an advertisement on the interface.
func forwarding(name string) bool {
	b, err := os.ReadFile("/proc/sys/net/ipv6/conf/" + name + "/forwarding")
	return err == nil && strings.TrimSpace(string(b)) != "0"
}

func privilege(err error) error {
	if errors.Is(err, unix.EPERM) || errors.Is(err, unix.EACCES) {
		return fmt.Errorf("%w (it takes CAP_NET_RAW)", err)
	}
	return err
}
