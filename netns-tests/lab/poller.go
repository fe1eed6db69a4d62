package lab

import (
	"errors"
	"net/netip"
	"time"

	"golang.org/x/sys/unix"

	"github.com/keepvip/keepvip/netns-tests/try"
)

// poller tells one thread which of many sockets have something for it.
type poller struct {
	fd     int
	events [256]unix.EpollEvent
}

func newPoller() (_ *poller, err error) {
	defer try.Say(&err, "lab: epoll")
	fd := try.Get(unix.EpollCreate1(unix.EPOLL_CLOEXEC))
	return &poller{fd: fd}, nil
}

// watch waits for input on a socket.
func (p *poller) watch(fd int) error {
	return unix.EpollCtl(p.fd, unix.EPOLL_CTL_ADD, fd, &unix.EpollEvent{Events: unix.EPOLLIN | unix.EPOLLRDHUP, Fd: int32(fd)})
}

// dial begins a connection, and watches it.
func (p *poller) dial(to netip.AddrPort) (fd int, err error) {
	if fd, err = socketTCP(to); err != nil {
		return -1, err
	}
	if err = errors.Join(connectTCP(fd, to), p.watch(fd)); err != nil {
		p.shut(fd)
	}
	return fd, err
}

// wait returns the sockets that are ready, at once if some are, and otherwise within the limit. epoll_wait knows whole milliseconds alone,
// and a thread that measures must not spend what is left of one in asking again and again.
func (p *poller) wait(limit time.Duration) []unix.EpollEvent {
	waitReadable([]unix.PollFd{{Fd: int32(p.fd), Events: unix.POLLIN}}, limit)
	n, err := unix.EpollWait(p.fd, p.events[:], 0)
	if err != nil {
		return nil
	}
	return p.events[:n]
}

// shut closes a socket that was watched. A program that is just being started has it, too, until it begins: epoll would go on to tell of it by
// a number that another socket of this process may have by then.
func (p *poller) shut(fd int) {
	_ = unix.EpollCtl(p.fd, unix.EPOLL_CTL_DEL, fd, nil)
	unix.Close(fd)
}

func (p *poller) close() { unix.Close(p.fd) }

// socketError is what became of a connection that was begun without waiting for it.
func socketError(fd int) error {
	errno, err := unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_ERROR)
	if err == nil && errno != 0 {
		err = unix.Errno(errno)
	}
	return err
}

// endpointOf is the address that a call such as getsockname or accept has returned.
func endpointOf(a unix.Sockaddr) netip.AddrPort {
	switch a := a.(type) {
	case *unix.SockaddrInet4:
		return netip.AddrPortFrom(netip.AddrFrom4(a.Addr), uint16(a.Port))
	case *unix.SockaddrInet6:
		return netip.AddrPortFrom(netip.AddrFrom16(a.Addr).Unmap(), uint16(a.Port))
	}
	return netip.AddrPort{}
}
