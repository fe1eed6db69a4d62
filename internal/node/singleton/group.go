package singleton

import (
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"

	"golang.org/x/sys/unix"
)

// group is the number of the fanout group, "KV".
const group = 'K'<<8 | 'V'

// errGroupTaken says that a packet socket of another process is in the group.
var errGroupTaken = errors.New("fanout group is taken")

// takeGroup opens a packet socket and makes it the only member of the group. A socket of another protocol is refused there
// (packet(7), PACKET_FANOUT: all members have the same), so each process asks for a protocol of its own, which nobody sends.
// Nothing is ever received: the protocol stands in a bucket of the kernel's table where IP, IPv6, ARP and VLAN do not.
//
// Two processes may pick the same protocol, one time in 2048. So the group has room for one member: Linux 5.11 and newer refuse a second one
// then. Older kernels do not know of the room.
func takeGroup() (fd int, err error) {
	var b [2]byte
	_, _ = rand.Read(b[:]) // never fails
	b[0], b[1] = b[0]|0x80, b[1]&0xf0|3
	return joinGroup(int(binary.NativeEndian.Uint16(b[:]))) // as htons gives it
}

// joinGroup is takeGroup with that protocol.
func joinGroup(protocol int) (fd int, err error) {
	fd, err = unix.Socket(unix.AF_PACKET, unix.SOCK_RAW|unix.SOCK_CLOEXEC, protocol)
	if err != nil {
		return -1, fmt.Errorf("singleton: packet socket: %w", err)
	}
	const what = group | unix.PACKET_FANOUT_HASH<<16
	// struct fanout_args: the number and the kind, in the order of one integer, and the room.
	args := binary.NativeEndian.AppendUint32(binary.NativeEndian.AppendUint32(nil, what), 1)
	err = unix.SetsockoptString(fd, unix.SOL_PACKET, unix.PACKET_FANOUT, string(args))
	if errors.Is(err, unix.EINVAL) { // an older kernel, or another protocol
		err = unix.SetsockoptInt(fd, unix.SOL_PACKET, unix.PACKET_FANOUT, what)
	}
	if err == nil {
		return fd, nil
	}
	_ = unix.Close(fd) // it was used for nothing
	if errors.Is(err, unix.EINVAL) || errors.Is(err, unix.ENOSPC) {
		return -1, errGroupTaken
	}
	return -1, fmt.Errorf("singleton: fanout group %d: %w", group, err)
}
