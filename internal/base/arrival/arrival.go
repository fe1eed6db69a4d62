//go:build linux

// Package arrival dates packets by when the kernel took them in, and not by when a process got round to reading them: to a process
// that was starved an old packet must not look like a new one. It has no goroutines.
package arrival

import (
	"encoding/binary"
	"time"

	"golang.org/x/sys/unix"
)

// Enable asks the kernel for the time with each packet of a socket (SO_TIMESTAMPNS).
func Enable(fd int) error { return unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_TIMESTAMPNS, 1) }

// Timestamp is the time in a control message, by the wall clock; false for a message that is something else, or too short.
func Timestamp(level, typ int, data []byte) (time.Time, bool) {
	if level != unix.SOL_SOCKET || typ != unix.SCM_TIMESTAMPNS || len(data) < 16 {
		return time.Time{}, false
	}
	sec, nsec := binary.NativeEndian.Uint64(data), binary.NativeEndian.Uint64(data[8:])
	return time.Unix(int64(sec), int64(nsec)), true
}

// Stamp is the time in the control messages that came with a packet; zero if there is none.
func Stamp(control []byte) time.Time {
	for len(control) > 0 {
		header, data, rest, err := unix.ParseOneSocketControlMessage(control)
		if err != nil {
			break
		}
		if at, ok := Timestamp(int(header.Level), int(header.Type), data); ok {
			return at
		}
		control = rest
	}
	return time.Time{}
}

// Age is how long a packet has waited: by the wall clock, which may have been stepped since, within what the monotonic clock knows:
// not negative, and no longer than since the queue was last seen empty. Without a timestamp it is 0.
func Age(timestamp, now, emptied time.Time) time.Duration {
	if timestamp.IsZero() {
		return 0
	}
	age := time.Duration(now.UnixNano() - timestamp.UnixNano())
	return min(max(age, 0), max(now.Sub(emptied), 0))
}
