package link

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"github.com/keepvip/keepvip/internal/base/nonblock"
)

const (
	// eventBuffer holds some thousands of events: a node that starts all its containers at once must not overrun it.
	eventBuffer = 1 << 20
	// resubscribeDelay keeps a kernel that refuses a socket from being asked in a loop.
	resubscribeDelay = time.Second
)

// Watch calls changed whenever a link or an address may have changed, once for all events that wait at that time, until ctx ends; it then
// returns nil. An address whose lifetime is renewed has not changed. It also calls changed once at the beginning, when nothing can be missed any more, and after events were lost (the buffer
// overran, the socket broke). changed runs on Watch's goroutine and should only pass the news on. The error says that the kernel refused the
// first subscription.
func (h *Handle) Watch(ctx context.Context, changed func()) error {
	s, err := subscribe()
	if err != nil {
		return fmt.Errorf("link: subscribe to link and address events: %w", err)
	}
	for {
		changed()
		err := s.follow(ctx, h.overrun, changed)
		if ctx.Err() != nil {
			return nil
		}
		h.log.Warn("The kernel's link and address events broke off, subscribing again", "error", err)
		if s = resubscribe(ctx); s == nil {
			return nil
		}
	}
}

func (h *Handle) overrun() {
	h.log.Warn("Link and address events were lost, reading everything again")
}

func resubscribe(ctx context.Context) *events {
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(resubscribeDelay):
		}
		if s, err := subscribe(); err == nil {
			return s
		}
	}
}

// events is one subscription.
type events struct {
	file  *os.File
	told  told
	event [512]byte // of a link's event the rest is cut off, as a listing follows
}

func subscribe() (*events, error) {
	fd, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, unix.NETLINK_ROUTE)
	if err != nil {
		return nil, os.NewSyscallError("socket", err)
	}
	file := os.NewFile(uintptr(fd), "rtnetlink events")
	// Past the system's limit only with CAP_NET_ADMIN; a smaller buffer still works, as an overrun is noticed.
	if unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_RCVBUFFORCE, eventBuffer) != nil {
		_ = unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_RCVBUF, eventBuffer)
	}
	groups := &unix.SockaddrNetlink{Family: unix.AF_NETLINK, Groups: unix.RTMGRP_LINK | unix.RTMGRP_IPV4_IFADDR | unix.RTMGRP_IPV6_IFADDR}
	if err := unix.Bind(fd, groups); err != nil {
		_ = file.Close()
		return nil, os.NewSyscallError("bind", err)
	}
	return &events{file: file, told: told{}}, nil
}

// follow calls changed for each batch of events until ctx ends or the socket breaks, and closes the subscription.
func (s *events) follow(ctx context.Context, overrun, changed func()) error {
	stop := context.AfterFunc(ctx, func() { _ = s.file.Close() })
	defer func() {
		if stop() {
			_ = s.file.Close()
		}
	}()
	raw, err := s.file.SyscallConn()
	if err != nil {
		return err
	}
	for {
		var lost bool
		var broken error
		err := raw.Read(func(fd uintptr) bool {
			var news bool
			news, lost, broken = s.drain(int(fd))
			return news || lost || broken != nil
		})
		if err := errors.Join(err, broken); err != nil {
			return err
		}
		if lost {
			clear(s.told)
			overrun()
		}
		changed()
	}
}

// drain takes what waits off the socket, up to a bound, so that a flood of events cannot keep a change from being reported.
func (s *events) drain(fd int) (news, lost bool, err error) {
	for range 1 << 12 {
		n, _, _, err := nonblock.Recvmsg(fd, s.event[:], nil)
		switch {
		case err == nil:
			news = s.told.news(s.event[:n]) || news
		case errors.Is(err, unix.ENOBUFS):
			lost = true
		case errors.Is(err, unix.EAGAIN):
			return news, lost, nil
		case !errors.Is(err, unix.EINTR):
			return news, lost, os.NewSyscallError("recvmsg", err)
		}
	}
	return news, lost, nil
}
