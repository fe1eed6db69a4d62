//go:build linux

package vrrp

import (
	"errors"
	"fmt"
	"os"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/keepvip/keepvip/internal/base/nonblock"
)

// waiter tells when a socket has something to read. The Go netpoller, given the socket itself, would wake a thread for
// every packet that comes in, also while nobody waits; this costs more than reading the packets. So there is an epoll
// instance in between, which says so once each time that somebody begins to wait.
type waiter struct {
	epoll *os.File
	raw   syscall.RawConn
}

// once is what the socket is watched for.
const once = unix.EPOLLIN | unix.EPOLLONESHOT

func newWaiter(socket *os.File) (*waiter, error) {
	fd, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("epoll instance: %w", err)
	}
	// Only a descriptor that does not block is given to the netpoller.
	if err := unix.SetNonblock(fd, true); err != nil {
		return nil, errors.Join(fmt.Errorf("epoll instance: %w", err), unix.Close(fd))
	}
	w := &waiter{epoll: os.NewFile(uintptr(fd), "vrrp-wait")}
	if w.raw, err = w.epoll.SyscallConn(); err == nil {
		err = w.watch(unix.EPOLL_CTL_ADD, socket)
	}
	if err != nil {
		return nil, errors.Join(err, w.close())
	}
	return w, nil
}

// watch asks for one notice.
func (w *waiter) watch(op int, socket *os.File) error {
	raw, err := socket.SyscallConn()
	if err != nil {
		return err
	}
	var failed error
	err = raw.Control(func(fd uintptr) {
		err := w.raw.Control(func(epoll uintptr) {
			failed = unix.EpollCtl(int(epoll), op, int(fd), &unix.EpollEvent{Events: once, Fd: int32(fd)})
		})
		failed = errors.Join(failed, err)
	})
	return errors.Join(failed, err)
}

// wait blocks until the socket can be read.
func (w *waiter) wait(socket *os.File) error {
	if err := w.watch(unix.EPOLL_CTL_MOD, socket); err != nil {
		return err
	}
	var failed error
	err := w.raw.Read(func(epoll uintptr) bool {
		var ready bool
		ready, failed = nonblock.Ready(int(epoll))
		return ready || failed != nil
	})
	return errors.Join(failed, err)
}

// close wakes whoever waits.
func (w *waiter) close() error { return w.epoll.Close() }
