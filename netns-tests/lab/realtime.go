package lab

import (
	"fmt"
	"os"
	"runtime"
	"strconv"
	"unsafe"

	"golang.org/x/sys/unix"
)

// realtimePriority is low among the real-time priorities: above every ordinary
// program, below the kernel's own real-time threads.
const realtimePriority = 5

// makeProcessRealtime puts all threads of this process under SCHED_RR; threads
// that Go creates later inherit it.
func makeProcessRealtime() error {
	tasks, err := os.ReadDir("/proc/self/task")
	if err != nil {
		return fmt.Errorf("lab: list own threads: %w", err)
	}
	for _, task := range tasks {
		tid, err := strconv.Atoi(task.Name())
		if err != nil {
			continue
		}
		if err := setScheduler(tid, unix.SCHED_RR, realtimePriority); err != nil {
			return err
		}
	}
	return nil
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

// Ordinary calls fn in a thread with the policy of an ordinary program, which what it starts inherits.
func Ordinary(fn func() error) error {
	done := make(chan error, 1)
	go func() {
		runtime.LockOSThread() // never unlocked: the thread has another policy
		err := setScheduler(0, unix.SCHED_NORMAL, 0)
		if err == nil {
			err = fn()
		}
		done <- err
	}()
	return <-done
}
