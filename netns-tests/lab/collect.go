package lab

import (
	"context"
	"os"
	"runtime"
	"runtime/metrics"
	"strconv"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// collectFrom is how much garbage and live memory this process has before it is collected.
	collectFrom = 256 << 20
	// memoryLimit is from where on the runtime collects by itself: nothing comes near it.
	memoryLimit = 2 << 30
)

// collect collects the garbage of this process when it is much, until ctx ends.
//
// The runtime must not begin a collection by itself. A thread that returns from a system call while a collector looks at its stack spins
// until that is done. A real-time thread spins on the processor that the collector, which is ordinary, was on, until the kernel's limit for
// real-time threads is reached: 950 ms in which nothing else runs there.
func collect(ctx context.Context) {
	sample := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	for pauseFor(ctx, time.Second) {
		if metrics.Read(sample); sample[0].Value.Uint64() > collectFrom {
			withoutRealtime(runtime.GC)
		}
	}
}

// schedulers is held while a thread becomes a real-time one, and exclusively while none may be.
var schedulers sync.RWMutex

// withoutRealtime runs fn while every thread of this process is ordinary.
func withoutRealtime(fn func()) {
	schedulers.Lock()
	defer schedulers.Unlock()
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	const reset = schedResetOnFork
	var threads []int
	all, _ := numbersIn("/proc/self/task")
	for _, tid := range all {
		policy, _, errno := unix.Syscall(unix.SYS_SCHED_GETSCHEDULER, uintptr(tid), 0, 0)
		if errno == 0 && policy&^uintptr(reset) == unix.SCHED_RR && setScheduler(tid, unix.SCHED_NORMAL|reset, 0) == nil {
			threads = append(threads, tid)
		}
	}
	fn()
	for _, tid := range threads {
		if _, err := os.Stat("/proc/self/task/" + strconv.Itoa(tid)); err == nil { // it has not ended
			_ = setScheduler(tid, unix.SCHED_RR|reset, realtimePriority)
		}
	}
}
