package lab

import (
	"fmt"
	"os"
	"runtime"
	"strconv"
	"sync/atomic"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/keepvip/keepvip/netns-tests/try"
)

// realtimePriority is low among the real-time priorities: above every ordinary
// program, below the kernel's own real-time threads.
const realtimePriority = 5

// schedResetOnFork is SCHED_RESET_ON_FORK of sched(7): what the thread starts is ordinary again.
const schedResetOnFork = 0x40000000

// lockMeasuringThread keeps the calling goroutine on a thread of its own under SCHED_RR, where that is allowed. The thread ends with
// the goroutine, which must not unlock it.
func lockMeasuringThread() {
	runtime.LockOSThread()
	schedulers.RLock()
	defer schedulers.RUnlock()
	_ = setScheduler(0, unix.SCHED_RR|schedResetOnFork, realtimePriority)
}

// measuring is a goroutine on a thread of its own that measures until it is told to end.
type measuring struct {
	stop atomic.Bool
	done chan struct{}
}

// start begins it. Whatever run does looks at stop now and then.
func (m *measuring) start(run func()) {
	m.done = make(chan struct{})
	go func() {
		defer close(m.done)
		lockMeasuringThread()
		run()
	}()
}

// startIn does so inside a namespace.
func (m *measuring) startIn(space *Namespace, run func()) error {
	entered := make(chan error)
	m.start(func() {
		err := space.enter()
		if entered <- err; err == nil {
			run()
		}
	})
	return <-entered
}

// halt tells it to end, and waits until it has.
func (m *measuring) halt() {
	m.stop.Store(true)
	<-m.done
}

// monitorInRealtime puts the thread of Go's system monitor under the policy of the measuring threads.
//
// The monitor takes the processor of a goroutine that is in a system call, and keeps that call from returning meanwhile: the thread that
// returns spins. If that thread is a real-time one and the monitor is ordinary, on the same CPU, then the monitor cannot go on until the
// kernel's limit for real-time threads is reached: 950 ms in which nothing else runs there.
func monitorInRealtime() (err error) {
	defer try.Catch(&err)
	tid := try.Get(monitorThread())
	schedulers.RLock()
	defer schedulers.RUnlock()
	return setScheduler(tid, unix.SCHED_RR|schedResetOnFork, realtimePriority)
}

// monitorThread finds the thread of the system monitor: it is the second one that a Go program has, and the kernel lists threads in the
// order of their beginnings.
func monitorThread() (_ int, err error) {
	defer try.Say(&err, "lab: list the first two threads")
	dir := try.Get(os.Open("/proc/self/task"))
	defer dir.Close()
	names := try.Get(dir.Readdirnames(2))
	if len(names) < 2 {
		return 0, fmt.Errorf("there are %d", len(names))
	}
	return strconv.Atoi(names[1])
}

// setScheduler sets the policy of one thread; tid 0 is the calling thread.
func setScheduler(tid, policy, priority int) error {
	param := struct{ priority int32 }{int32(priority)}
	_, _, errno := unix.Syscall(unix.SYS_SCHED_SETSCHEDULER, uintptr(tid), uintptr(policy), uintptr(unsafe.Pointer(&param)))
	if errno != 0 {
		return fmt.Errorf("lab: set scheduler of thread %d: %w", tid, errno)
	}
	return nil
}

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
