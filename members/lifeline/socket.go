//go:build linux

package lifeline

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/keepvip/keepvip/members/envelope"
)

// unheardFor is after how many milliseconds a sign of life that nobody has taken in ends a line. The FIN of a process
// that is gone is not repeated for longer.
const unheardFor = 10_000

// bind listens on the own address, on the interface alone.
func (c *Config) bind() (s net.Listener, err error) {
	l := net.ListenConfig{KeepAlive: -1, Control: c.control(nil)}
	c.within(func() {
		s, err = l.Listen(context.Background(), network(c.Source), netip.AddrPortFrom(c.zoned(c.Source), c.Port).String())
	})
	return s, err
}

// dial connects from the own address, by the interface: the leases that end with the line are those of this interface.
func (c *Config) dial(ctx context.Context, to netip.Addr) (*os.File, error) {
	// Keepalive of the kernel is off: when it gives a line up, it resets it, and that packet would bear the mark.
	d := net.Dialer{Timeout: dialTime, KeepAlive: -1, Control: c.control(func(fd int) error {
		return unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_USER_TIMEOUT, unheardFor)
	})}
	own := c.zoned(c.Source)
	d.LocalAddr = &net.TCPAddr{IP: own.AsSlice(), Zone: own.Zone()}
	var low net.Conn
	var err error
	c.within(func() {
		low, err = d.DialContext(ctx, network(to), netip.AddrPortFrom(c.zoned(to), c.Port).String())
	})
	if err != nil {
		return nil, err
	}
	line, err := raise(low)
	if closed := low.Close(); err == nil && closed != nil {
		return nil, errors.Join(closed, line.Close())
	}
	return line, err
}

// firstLine is the least number that the descriptor of a line gets where the process may have so many: below the usual limit of 1024, and above
// those of everything else that it has open.
const firstLine = 960

// raise gives a connection a descriptor with a high number; the one that it had is to be closed. When a process has ended, its kernel closes the
// highest number first, and some files take it long: each packet socket a grace period of RCU, which is some tens of milliseconds. The end of a line
// must not wait for those.
func raise(c net.Conn) (line *os.File, err error) {
	s, ok := c.(syscall.Conn)
	if !ok {
		return nil, fmt.Errorf("connection is a %T", c)
	}
	raw, err := s.SyscallConn()
	if err != nil {
		return nil, err
	}
	err = onSocket(raw, func(fd int) error {
		up, err := unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, firstLine)
		if errors.Is(err, unix.EINVAL) { // this process may not have so many
			up, err = unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, 0)
		}
		if err != nil {
			return os.NewSyscallError("fcntl", err)
		}
		line = os.NewFile(uintptr(up), "lifeline") // never nil; it does not block, as the connection
		return nil
	})
	return line, err
}

func network(a netip.Addr) string {
	if a.Is4() {
		return "tcp4"
	}
	return "tcp6"
}

// zoned is the address with the zone that a link-local one needs.
func (c *Config) zoned(a netip.Addr) netip.Addr {
	if a.Is6() && a.IsLinkLocalUnicast() {
		return a.WithZone(c.Interface.Name)
	}
	return a
}

// control prepares a socket: what comes from beyond the link is dropped by the kernel (RFC 5082).
func (c *Config) control(more func(fd int) error) func(string, string, syscall.RawConn) error {
	level, options := unix.IPPROTO_IP, [][2]int{{unix.IP_TTL, envelope.HopLimit}, {unix.IP_MINTTL, envelope.HopLimit}}
	if c.Source.Is6() {
		level, options = unix.IPPROTO_IPV6, [][2]int{{unix.IPV6_UNICAST_HOPS, envelope.HopLimit}, {unix.IPV6_MINHOPCOUNT, envelope.HopLimit}}
	}
	return func(_, _ string, raw syscall.RawConn) error {
		return onSocket(raw, func(fd int) error {
			errs := []error{unix.BindToDevice(fd, c.Interface.Name)}
			for _, o := range options {
				errs = append(errs, unix.SetsockoptInt(fd, level, o[0], o[1]))
			}
			if more != nil {
				errs = append(errs, more(fd))
			}
			return errors.Join(errs...)
		})
	}
}

// setMark has what leaves on a line bear a mark, or with 0 none.
func setMark(c syscall.Conn, mark uint32) error {
	raw, err := c.SyscallConn()
	if err != nil {
		return err
	}
	return onSocket(raw, func(fd int) error {
		if err := unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_MARK, int(mark)); err != nil {
			return fmt.Errorf("mark the line: %w", err)
		}
		return nil
	})
}

func onSocket(raw syscall.RawConn, do func(fd int) error) (err error) {
	if control := raw.Control(func(fd uintptr) { err = do(int(fd)) }); control != nil {
		return control
	}
	return err
}
