package lab

import (
	"fmt"
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"
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

// mayMeasureInRealtime tells whether [lockMeasuringThread] gets what it asks for.
func mayMeasureInRealtime() bool {
	allowed := make(chan bool)
	go func() {
		runtime.LockOSThread() // never unlocked: the thread has another policy
		allowed <- setScheduler(0, unix.SCHED_RR|schedResetOnFork, realtimePriority) == nil
	}()
	return <-allowed
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

// Idle calls fn in a thread that runs when nothing else wants to, as does what it starts: compiling beside a lab that measures.
func Idle(fn func() error) error {
	done := make(chan error, 1)
	go func() {
		runtime.LockOSThread() // never unlocked: the thread has another policy
		err := setScheduler(0, unix.SCHED_IDLE, 0)
		if err == nil {
			err = fn()
		}
		done <- err
	}()
	return <-done
}
