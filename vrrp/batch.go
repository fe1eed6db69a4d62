//go:build linux

package vrrp

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

const (
	batchSize = 32
	// packetSize holds the longest advertisement with a trailer, 4,116 bytes over IPv6, and any IPv4 header. The kernel
	// says of a longer packet that it was cut, and it is none of ours.
	packetSize = 4608
	oobSize    = 256
)

// message is one packet as recvmmsg(2) delivers it.
type message struct {
	packet []byte
	oob    []byte
	source [16]byte // IPv6 only; an IPv4 packet comes with its header
	cut    bool     // the packet, or what came with it, did not fit
}

// mmsghdr is struct mmsghdr, which x/sys does not have.
type mmsghdr struct {
	hdr unix.Msghdr
	n   uint32
}

// batch reads many packets with one system call: under a flood, the calls are what costs most.
type batch struct {
	nameless bool
	headers  [batchSize]mmsghdr
	iovecs   [batchSize]unix.Iovec
	names    [batchSize]unix.RawSockaddrInet6
	packets  [batchSize][packetSize]byte
	oobs     [batchSize][oobSize]byte
}

// newBatch is for IPv4 nameless: each packet has its source in its header, and need not have it twice.
func newBatch(nameless bool) *batch {
	b := &batch{nameless: nameless}
	for i := range b.headers {
		b.iovecs[i].Base = &b.packets[i][0]
		b.iovecs[i].SetLen(packetSize)
		h := &b.headers[i].hdr
		h.Iov = &b.iovecs[i]
		h.SetIovlen(1)
	}
	return b
}

// receive reads up to batchSize packets without blocking. EAGAIN means that none is left.
func (b *batch) receive(fd int) (int, error) {
	for i := range b.headers {
		h := &b.headers[i].hdr // the kernel has changed the lengths of those that it filled
		if !b.nameless {
			h.Name, h.Namelen = (*byte)(unsafe.Pointer(&b.names[i])), unix.SizeofSockaddrInet6
		}
		h.Control = &b.oobs[i][0]
		h.SetControllen(oobSize)
		h.Flags = 0
	}
	for { // raw: see package nonblock
		n, _, errno := unix.RawSyscall6(unix.SYS_RECVMMSG, uintptr(fd), uintptr(unsafe.Pointer(&b.headers[0])),
			batchSize, unix.MSG_DONTWAIT, 0, 0)
		switch errno {
		case 0:
			return int(n), nil
		case unix.EINTR:
		default:
			return 0, errno
		}
	}
}

// message returns the i-th packet of the last receive; its slices are valid until the next.
func (b *batch) message(i int) message {
	h := &b.headers[i]
	return message{
		packet: b.packets[i][:min(int(h.n), packetSize)],
		oob:    b.oobs[i][:min(int(h.hdr.Controllen), oobSize)],
		source: b.names[i].Addr,
		cut:    h.hdr.Flags&(unix.MSG_TRUNC|unix.MSG_CTRUNC) != 0,
	}
}
