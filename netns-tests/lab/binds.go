package lab

import (
	"errors"
	"fmt"
	"net/netip"
	"syscall"
	"time"

	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"

	"github.com/keepvip/keepvip/netns-tests/try"
)

// Bind is a moment when a node's kernel got or lost an address.
type Bind struct {
	At      time.Duration `json:"at"`
	Node    int           `json:"node"`
	Address netip.Addr    `json:"address"`
	Added   bool          `json:"added"`
}

// bindWatcher follows the addresses of all nodes by netlink, in one thread.
type bindWatcher struct {
	measuring
	lab *Lab
	fds []unix.PollFd // by node

	has   []map[netip.Addr]bool // by node; owned by run until it has ended, as are the binds
	binds []Bind
}

func (l *Lab) startBindWatcher() (*bindWatcher, error) {
	w := &bindWatcher{lab: l}
	for _, n := range l.Nodes {
		if err := w.follow(n); err != nil {
			w.closeSockets()
			return nil, fmt.Errorf("lab: watch addresses of %s: %w", n.Label, err)
		}
	}
	w.start(w.run)
	return w, nil
}

// follow opens the socket of a node, and begins with the addresses that it has.
func (w *bindWatcher) follow(n *Node) (err error) {
	defer try.Catch(&err)
	fd := -1
	try.Do(n.Do(func() (err error) {
		defer try.Catch(&err)
		fd = try.Get(unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, unix.NETLINK_ROUTE))
		w.fds = append(w.fds, unix.PollFd{Fd: int32(fd), Events: unix.POLLIN})
		try.Do(largeBuffer(fd))
		return unix.Bind(fd, &unix.SockaddrNetlink{Family: unix.AF_NETLINK, Groups: unix.RTMGRP_IPV4_IFADDR | unix.RTMGRP_IPV6_IFADDR})
	}))
	held := try.Get(n.Addresses())
	has := map[netip.Addr]bool{}
	for _, addrs := range held {
		for _, a := range addrs {
			has[a] = true
		}
	}
	w.has = append(w.has, has)
	return nil
}

func (w *bindWatcher) run() {
	defer w.closeSockets()
	buf := make([]byte, 1<<16)
	for !w.stop.Load() {
		waitReadable(w.fds, 50*time.Millisecond)
		for i, p := range w.fds {
			for p.Revents != 0 {
				n, _, err := unix.Recvfrom(int(p.Fd), buf, 0)
				if errors.Is(err, unix.ENOBUFS) {
					continue
				}
				if err != nil {
					break
				}
				w.read(i, buf[:n], w.lab.Now())
			}
		}
	}
}

func (w *bindWatcher) closeSockets() {
	for _, p := range w.fds {
		unix.Close(int(p.Fd))
	}
}

// read takes in the messages of one datagram.
func (w *bindWatcher) read(node int, b []byte, now time.Duration) {
	messages, _ := syscall.ParseNetlinkMessage(b)
	for _, m := range messages {
		if kind := m.Header.Type; kind == unix.RTM_NEWADDR || kind == unix.RTM_DELADDR {
			if addr := addressOf(m.Data); addr.IsValid() {
				w.note(node, addr, kind == unix.RTM_NEWADDR, now)
			}
		}
	}
}

// note drops renewals of lifetimes: only a change is a bind.
func (w *bindWatcher) note(node int, addr netip.Addr, added bool, now time.Duration) {
	if w.has[node][addr] == added {
		return
	}
	w.has[node][addr] = added
	w.binds = append(w.binds, Bind{At: now, Node: w.lab.Nodes[node].ID, Address: addr, Added: added})
}

// addressOf finds IFA_LOCAL, or IFA_ADDRESS where there is none (IPv6).
func addressOf(message []byte) (found netip.Addr) {
	attributes, _ := nl.ParseRouteAttr(message[min(unix.SizeofIfAddrmsg, len(message)):])
	for _, a := range attributes {
		if addr, ok := netip.AddrFromSlice(a.Value); ok && (a.Attr.Type == unix.IFA_LOCAL || a.Attr.Type == unix.IFA_ADDRESS && !found.IsValid()) {
			found = addr
		}
	}
	return found
}

func (w *bindWatcher) finish() []Bind {
	w.halt()
	return w.binds
}
