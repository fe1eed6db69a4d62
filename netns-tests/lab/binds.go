package lab

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net/netip"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

// Bind is a moment when a node's kernel got or lost an address.
type Bind struct {
	At      time.Duration `json:"at"`
	Node    int           `json:"node"`
	Address netip.Addr    `json:"address"`
	Added   bool          `json:"added"`
}

// bindWatcher follows the addresses of one node by netlink.
type bindWatcher struct {
	lab  *Lab
	node int
	fd   int
	stop atomic.Bool
	done chan struct{}

	has   map[netip.Addr]bool // owned by run until done
	binds []Bind
	lost  bool
}

func (l *Lab) startBindWatcher(n *Node) (*bindWatcher, error) {
	w := &bindWatcher{lab: l, node: n.ID, done: make(chan struct{}), has: map[netip.Addr]bool{}}
	err := n.Do(func() (err error) {
		w.fd, err = unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, unix.NETLINK_ROUTE)
		if err != nil {
			return err
		}
		if err := largeBuffer(w.fd); err != nil {
			return err
		}
		return unix.Bind(w.fd, &unix.SockaddrNetlink{Family: unix.AF_NETLINK, Groups: unix.RTMGRP_IPV4_IFADDR | unix.RTMGRP_IPV6_IFADDR})
	})
	if err != nil {
		return nil, fmt.Errorf("lab: watch addresses of %s: %w", n.Label, err)
	}
	held, err := n.Addresses()
	if err != nil {
		return nil, err
	}
	for _, addrs := range held {
		for _, a := range addrs {
			w.has[a] = true
		}
	}
	go w.run()
	return w, nil
}

func (w *bindWatcher) run() {
	defer close(w.done)
	lockMeasuringThread()
	defer unix.Close(w.fd)
	buf := make([]byte, 1<<16)
	poll := []unix.PollFd{{Fd: int32(w.fd), Events: unix.POLLIN}}
	for !w.stop.Load() {
		waitReadable(poll, 50*time.Millisecond)
		for {
			n, _, err := unix.Recvfrom(w.fd, buf, 0)
			if errors.Is(err, unix.ENOBUFS) {
				w.lost = true
				continue
			}
			if err != nil {
				break
			}
			w.read(buf[:n], w.lab.now())
		}
	}
}

// read walks the messages of one datagram.
func (w *bindWatcher) read(b []byte, now time.Duration) {
	for len(b) >= unix.NLMSG_HDRLEN {
		length := int(binary.NativeEndian.Uint32(b))
		if length < unix.NLMSG_HDRLEN || length > len(b) {
			return
		}
		kind := binary.NativeEndian.Uint16(b[4:])
		if kind == unix.RTM_NEWADDR || kind == unix.RTM_DELADDR {
			if addr, ok := addressOf(b[unix.NLMSG_HDRLEN:length]); ok {
				w.note(addr, kind == unix.RTM_NEWADDR, now)
			}
		}
		b = b[min((length+3)&^3, len(b)):]
	}
}

// note drops renewals of lifetimes: only a change is a bind.
func (w *bindWatcher) note(addr netip.Addr, added bool, now time.Duration) {
	if w.has[addr] == added {
		return
	}
	w.has[addr] = added
	w.binds = append(w.binds, Bind{At: now, Node: w.node, Address: addr, Added: added})
}

// addressOf finds IFA_LOCAL, or IFA_ADDRESS where there is none (IPv6).
func addressOf(b []byte) (netip.Addr, bool) {
	if len(b) < unix.SizeofIfAddrmsg {
		return netip.Addr{}, false
	}
	var found netip.Addr
	for b = b[unix.SizeofIfAddrmsg:]; len(b) >= 4; {
		length, kind := int(binary.NativeEndian.Uint16(b)), binary.NativeEndian.Uint16(b[2:])
		if length < 4 || length > len(b) {
			break
		}
		if addr, ok := netip.AddrFromSlice(b[4:length]); ok && (kind == unix.IFA_LOCAL || kind == unix.IFA_ADDRESS && !found.IsValid()) {
			found = addr
		}
		b = b[min((length+3)&^3, len(b)):]
	}
	return found, found.IsValid()
}

func (w *bindWatcher) finish() []Bind {
	w.stop.Store(true)
	<-w.done
	return w.binds
}
