package lab

import (
	"encoding/binary"
	"net/netip"
	"time"

	"golang.org/x/sys/unix"

	"github.com/keepvip/keepvip/netns-tests/try"
)

// receiveBuffer holds what arrives while a measuring thread is late.
const receiveBuffer = 8 << 20

// udpSocket opens a non-blocking UDP socket of the address's family inside the
// namespace, with kernel receive timestamps.
func udpSocket(space *Namespace, local netip.AddrPort, options ...func(fd int) error) (_ int, err error) {
	defer try.Say(&err, "lab: UDP socket on %s in %s", local, space.Name)
	if local.Addr().Is6() {
		options = append(options, option(unix.IPPROTO_IPV6, unix.IPV6_V6ONLY, 1))
	}
	return socket(space, familyOf(local.Addr()), unix.SOCK_DGRAM, sockaddr(local), options)
}

// packetSocket opens a non-blocking AF_PACKET socket for one protocol on one
// interface, or on all interfaces if index is 0.
func packetSocket(space *Namespace, protocol uint16, index int, options ...func(fd int) error) (_ int, err error) {
	defer try.Say(&err, "lab: packet socket in %s", space.Name)
	to := &unix.SockaddrLinklayer{Protocol: networkOrder(protocol), Ifindex: index}
	return socket(space, unix.AF_PACKET, unix.SOCK_RAW, to, options)
}

// socket opens a non-blocking socket that is bound when all its options are set.
func socket(space *Namespace, family, kind int, to unix.Sockaddr, options []func(fd int) error) (int, error) {
	fd := -1
	err := space.Do(func() (err error) {
		defer try.Catch(&err)
		// Protocol 0: nothing is queued on a packet socket before the filter is in place.
		fd = try.Get(unix.Socket(family, kind|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, 0))
		for _, option := range append(options, option(unix.SOL_SOCKET, unix.SO_TIMESTAMPNS, 1), largeBuffer) {
			try.Do(option(fd))
		}
		return unix.Bind(fd, to)
	})
	if err != nil && fd >= 0 {
		unix.Close(fd)
	}
	return fd, err
}

// incomingAlone leaves out what the switch sends on: a frame is queued once, and not once more for each port by which it leaves (Linux 4.20).
var incomingAlone = option(unix.SOL_PACKET, unix.PACKET_IGNORE_OUTGOING, 1)

var largeBuffer = option(unix.SOL_SOCKET, unix.SO_RCVBUFFORCE, receiveBuffer)

func option(level, name, value int) func(fd int) error {
	return func(fd int) error { return unix.SetsockoptInt(fd, level, name, value) }
}

func familyOf(a netip.Addr) int {
	if a.Is4() {
		return unix.AF_INET
	}
	return unix.AF_INET6
}

func sockaddr(a netip.AddrPort) unix.Sockaddr {
	if a.Addr().Is4() {
		return &unix.SockaddrInet4{Port: int(a.Port()), Addr: a.Addr().As4()}
	}
	return &unix.SockaddrInet6{Port: int(a.Port()), Addr: a.Addr().As16()}
}

// receiver reads datagrams and the kernel's timestamps without allocating.
type receiver struct {
	data      [2048]byte
	control   [256]byte
	unstamped int // datagrams that the kernel gave no time: they are passed over, because a time of this process says nothing
}

// next reads one datagram; ok is false when nothing is queued.
func (r *receiver) next(fd int) (data []byte, stamp time.Time, from unix.Sockaddr, ok bool) {
	for {
		n, cn, _, from, err := unix.Recvmsg(fd, r.data[:], r.control[:], 0)
		if err == unix.EINTR {
			continue
		}
		if err != nil {
			return nil, time.Time{}, nil, false
		}
		stamp, ok := stampOf(r.control[:cn])
		if !ok {
			r.unstamped++
			continue
		}
		return r.data[:n], stamp, from, true
	}
}

// drain reads what is queued.
func (r *receiver) drain(fd int, do func(data []byte, stamp time.Time, from unix.Sockaddr)) {
	for {
		data, stamp, from, ok := r.next(fd)
		if !ok {
			return
		}
		do(data, stamp, from)
	}
}

// stampOf finds SCM_TIMESTAMPNS.
func stampOf(control []byte) (time.Time, bool) {
	data, ok := controlMessage(control, unix.SOL_SOCKET, unix.SO_TIMESTAMPNS)
	if !ok || len(data) < 16 {
		return time.Time{}, false
	}
	return time.Unix(int64(binary.NativeEndian.Uint64(data)), int64(binary.NativeEndian.Uint64(data[8:]))), true
}

// controlMessage finds one control message and returns its data.
func controlMessage(control []byte, level, kind int32) ([]byte, bool) {
	for len(control) > 0 {
		h, data, rest, err := unix.ParseOneSocketControlMessage(control)
		if err != nil {
			return nil, false
		}
		if h.Level == level && h.Type == kind {
			return data, true
		}
		control = rest
	}
	return nil, false
}

// networkOrder converts a 16-bit number for a field that is big-endian in memory.
func networkOrder(v uint16) uint16 {
	var b [2]byte
	binary.BigEndian.PutUint16(b[:], v)
	return binary.NativeEndian.Uint16(b[:])
}
