package lab

import (
	"net/netip"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

// echo answers UDP probes on every address of a node from the address that was
// asked, and writes the node's number into the answer. It belongs to the
// node's kernel side: faults of the program under test do not touch it.
type echo struct {
	node byte
	fds  []unix.PollFd
	stop atomic.Bool
	done chan struct{}
}

func startEcho(space *Namespace, node int) (*echo, error) {
	e := &echo{node: byte(node), done: make(chan struct{})}
	v4, err := udpSocket(space, netip.AddrPortFrom(netip.IPv4Unspecified(), echoPort), func(fd int) error {
		return unix.SetsockoptInt(fd, unix.IPPROTO_IP, unix.IP_PKTINFO, 1)
	})
	if err != nil {
		return nil, err
	}
	v6, err := udpSocket(space, netip.AddrPortFrom(netip.IPv6Unspecified(), echoPort), func(fd int) error {
		return unix.SetsockoptInt(fd, unix.IPPROTO_IPV6, unix.IPV6_RECVPKTINFO, 1)
	})
	if err != nil {
		unix.Close(v4)
		return nil, err
	}
	e.fds = []unix.PollFd{{Fd: int32(v4), Events: unix.POLLIN}, {Fd: int32(v6), Events: unix.POLLIN}}
	go e.run()
	return e, nil
}

func (e *echo) run() {
	defer close(e.done)
	lockMeasuringThread()
	var r receiver
	for !e.stop.Load() {
		waitReadable(e.fds, 100*time.Millisecond)
		for _, p := range e.fds {
			for e.answer(&r, int(p.Fd)) {
			}
		}
	}
}

// answer sends one datagram back; false when nothing is queued.
func (e *echo) answer(r *receiver, fd int) bool {
	n, cn, _, from, err := unix.Recvmsg(fd, r.data[:], r.control[:], 0)
	if err != nil {
		return err == unix.EINTR
	}
	if p, ok := parsePayload(r.data[:n]); ok && p.node == 0 {
		p.node = e.node
		p.put(r.data[:n])
		// Fails when the address has just left the node: no answer, as it should be.
		_ = unix.Sendmsg(fd, r.data[:n], answerSource(r.control[:cn]), from, unix.MSG_DONTWAIT)
	}
	return true
}

// answerSource turns the packet information of a request into that of its
// answer: send from the address that was asked, by whatever route.
func answerSource(control []byte) []byte {
	if data, ok := controlMessage(control, unix.IPPROTO_IP, unix.IP_PKTINFO); ok && len(data) >= 12 {
		// struct in_pktinfo: ifindex, spec_dst, addr; addr is what was asked.
		return unix.PktInfo4(&unix.Inet4Pktinfo{Spec_dst: [4]byte(data[8:12])})
	}
	if data, ok := controlMessage(control, unix.IPPROTO_IPV6, unix.IPV6_PKTINFO); ok && len(data) >= 16 {
		return unix.PktInfo6(&unix.Inet6Pktinfo{Addr: [16]byte(data[:16])})
	}
	return nil
}

// close waits until the thread has seen that it is to stop.
func (e *echo) close() {
	<-e.done
	for _, p := range e.fds {
		unix.Close(int(p.Fd))
	}
}
