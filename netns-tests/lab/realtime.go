package lab

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"runtime/metrics"
	"strconv"
	"sync"
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
func monitorThread() (int, error) {
	dir, err := os.Open("/proc/self/task")
	if err != nil {
		return 0, fmt.Errorf("lab: list the threads: %w", err)
	}
	defer dir.Close()
	names, err := dir.Readdirnames(2)
	if err != nil || len(names) < 2 {
		return 0, fmt.Errorf("lab: list the first two of %d threads: %w", len(names), err)
	}
	return strconv.Atoi(names[1])
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
	ticker := time.NewTicker(time.Second)
	defer ticker.Stop()
	sample := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
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
	for _, tid := range ownThreads() {
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

// ownThreads lists the threads of this process.
func ownThreads() []int {
	entries, err := os.ReadDir("/proc/self/task")
	if err != nil {
		return nil
	}
	var out []int
	for _, e := range entries {
		if tid, err := strconv.Atoi(e.Name()); err == nil {
			out = append(out, tid)
		}
	}
	return out
}

// stallLimit is the lateness of a measuring thread that is reported.
const stallLimit = 5 * time.Millisecond

// starvedLimit is the lateness of an ordinary process that is reported.
const starvedLimit = 10 * time.Millisecond

// Stall is a time in which the measuring side itself did not run.
type Stall struct {
	At     time.Duration `json:"at"`
	Length time.Duration `json:"length"`
	CPU    int           `json:"cpu"` // which processor stood still, -1 for a prober's own lateness
}

// latenessWatch measures what the machine itself does: on every CPU a
// real-time thread that only sleeps and wakes (its lateness stops everything
// on that CPU), and one ordinary thread (what programs under test live with).
type latenessWatch struct {
	now  func() time.Duration
	stop atomic.Bool
	wait sync.WaitGroup

	mu              sync.Mutex
	stalls, starved []Stall
}

func startLatenessWatch(now func() time.Duration) *latenessWatch {
	w := &latenessWatch{now: now}
	for cpu := range runtime.NumCPU() {
		w.wait.Go(func() {
			lockMeasuringThread() // and bind it to one CPU
			var set unix.CPUSet
			set.Set(cpu)
			if unix.SchedSetaffinity(0, &set) == nil {
				w.watch(&w.stalls, stallLimit, cpu)
			}
		})
	}
	w.wait.Go(func() {
		runtime.LockOSThread() // never unlocked: the thread has another policy
		if setScheduler(0, unix.SCHED_NORMAL, 0) == nil {
			w.watch(&w.starved, starvedLimit, -1)
		}
	})
	return w
}

// watch sleeps 2 ms at a time, and notes how much later than that it goes on.
func (w *latenessWatch) watch(to *[]Stall, limit time.Duration, cpu int) {
	for !w.stop.Load() {
		due := w.now() + 2*time.Millisecond
		nap(2 * time.Millisecond)
		if late := w.now() - due; late > limit {
			w.mu.Lock()
			*to = append(*to, Stall{At: due, Length: late, CPU: cpu})
			w.mu.Unlock()
		}
	}
}

func (w *latenessWatch) finish() {
	w.stop.Store(true)
	w.wait.Wait()
}

// StoodStill does something, and returns for how long the machine, or an ordinary process on it, stood still meanwhile within any one second.
func StoodStill(do func() error) (time.Duration, error) {
	began := time.Now()
	w := startLatenessWatch(func() time.Duration { return time.Since(began) })
	err := do()
	w.finish()
	return standstill(joined(w.stalls, w.starved)), err
}
