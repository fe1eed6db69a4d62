package daemon

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"github.com/keepvip/keepvip/internal/base/sockaddr"
)

// connectOnce connects from an own address, or from the kernel's choice, and ends the connection by a reset, so that nothing waits afterwards, here or
// there, and no service is woken. It waits in the kernel, which looks once more when the time is over: so a process that was kept from running does not take an answer that
// has come for none. The error is then [unix.ETIMEDOUT].
func connectOnce(ctx context.Context, from netip.Addr, to netip.AddrPort) error {
	fd, err := unix.Socket(sockaddr.Family(to.Addr()), unix.SOCK_STREAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, unix.IPPROTO_TCP)
	if err != nil {
		return os.NewSyscallError("socket", err)
	}
	defer unix.Close(fd)
	// The kernel keeps back the last word of the handshake, and the reset comes in its place: so the service never sees the connection, and logs nothing.
	_ = unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_QUICKACK, 0)
	_ = unix.SetsockoptLinger(fd, unix.SOL_SOCKET, unix.SO_LINGER, &unix.Linger{Onoff: 1})
	if from.IsValid() {
		if err := unix.Bind(fd, sockaddr.Of(from, 0, zoneOf(from))); err != nil {
			return os.NewSyscallError("bind", err)
		}
	}
	switch err := unix.Connect(fd, sockaddr.Of(to.Addr(), to.Port(), zoneOf(to.Addr()))); err {
	case nil:
		return nil
	case unix.EINPROGRESS:
	default:
		return fmt.Errorf("connect to %s: %w", to, err)
	}
	limit := time.Hour
	if end, ends := ctx.Deadline(); ends {
		limit = max(time.Until(end), time.Millisecond)
	}
	begun, ready := time.Now(), false
	for !ready {
		n, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLOUT}}, int(max(limit-time.Since(begun), 0)/time.Millisecond))
		switch {
		case err == unix.EINTR:
			continue
		case err != nil:
			return os.NewSyscallError("poll", err)
		case n == 0:
			return fmt.Errorf("connect to %s: %w", to, unix.ETIMEDOUT)
		}
		ready = true
	}
	errno, err := unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_ERROR)
	if err == nil && errno != 0 {
		err = fmt.Errorf("connect to %s: %w", to, unix.Errno(errno))
	}
	return err
}

// zoneOf is the index of the link of a link-local address, by its name; 0: it has none.
func zoneOf(a netip.Addr) int {
	if a.Zone() == "" {
		return 0
	}
	i, err := net.InterfaceByName(a.Zone())
	if err != nil {
		return 0
	}
	return i.Index
}
