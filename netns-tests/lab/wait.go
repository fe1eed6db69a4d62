package lab

import (
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// A measuring thread waits in raw system calls, of which Go's runtime does not know. A thread that returns from another one may have to
// wait for an ordinary thread of this process: it spins meanwhile, and if it is a real-time one, then it keeps its CPU from everything that
// is ordinary, that thread too. The thread keeps its P while it waits: there are measuringThreads of them. What the runtime wants of it
// comes as a signal, which ends the wait.

// nap sleeps for d, or less if a signal comes.
func nap(d time.Duration) {
	ts := unix.NsecToTimespec(max(d, 0).Nanoseconds())
	_, _, _ = unix.RawSyscall(unix.SYS_NANOSLEEP, uintptr(unsafe.Pointer(&ts)), 0, 0)
}

// waitReadable waits until one of the sockets is readable, the time is over, or a signal comes.
func waitReadable(fds []unix.PollFd, limit time.Duration) {
	ts := unix.NsecToTimespec(max(limit, 0).Nanoseconds())
	_, _, _ = unix.RawSyscall6(unix.SYS_PPOLL, uintptr(unsafe.Pointer(unsafe.SliceData(fds))), uintptr(len(fds)), uintptr(unsafe.Pointer(&ts)), 0, 0, 0)
}
