package lab

import (
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

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
// on that CPU), and one ordinary thread (what programs under test live with);
// what a hypervisor takes of the CPUs; how long the threads of programs under
// test wait for one; and how long the kernel lets nobody change an address.
type latenessWatch struct {
	stop atomic.Bool
	done chan struct{} // closed with stop
	wait sync.WaitGroup

	mu       sync.Mutex
	stalls   []Stall
	ordinary time.Duration
	starved  []Stall
	stolen   []Stall
	waited   []Stall
	locked   []Stall
}

func startLatenessWatch(l *Lab) *latenessWatch {
	w := &latenessWatch{done: make(chan struct{})}
	for cpu := range runtime.NumCPU() {
		w.wait.Go(func() { w.watchCPU(l, cpu) })
	}
	w.wait.Go(func() { w.watchOrdinary(l) })
	w.wait.Go(func() { w.stolen = watchStolen(l, w.done) })
	w.wait.Go(func() { w.waited = watchWaits(l, &w.stop) })
	w.wait.Go(func() { w.locked = watchLock(l, &w.stop) })
	return w
}

func (w *latenessWatch) watchCPU(l *Lab, cpu int) {
	lockMeasuringThread() // and bind it to one CPU
	var set unix.CPUSet
	set.Set(cpu)
	if unix.SchedSetaffinity(0, &set) != nil {
		return
	}
	for !w.stop.Load() {
		if at, late := oversleep(l); late > stallLimit {
			w.mu.Lock()
			w.stalls = append(w.stalls, Stall{At: at, Length: late, CPU: cpu})
			w.mu.Unlock()
		}
	}
}

func (w *latenessWatch) watchOrdinary(l *Lab) {
	runtime.LockOSThread() // never unlocked: the thread has another policy
	if setScheduler(0, unix.SCHED_NORMAL, 0) != nil {
		return
	}
	var longest time.Duration
	var starved []Stall
	for !w.stop.Load() {
		at, late := oversleep(l)
		longest = max(longest, late)
		if late > starvedLimit {
			starved = append(starved, Stall{At: at, Length: late, CPU: -1})
		}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.ordinary, w.starved = longest, starved
}

// oversleep sleeps 2 ms and returns when it should have ended and how much
// later it did.
func oversleep(l *Lab) (due, late time.Duration) {
	due = l.now() + 2*time.Millisecond
	nap(2 * time.Millisecond)
	return due, l.now() - due
}

// Beside does something, and returns how the machine itself ran meanwhile: a report of standstills alone.
func (l *Lab) Beside(do func() error) (*Report, error) {
	r := &Report{Began: l.now(), Realtime: l.host.realtime}
	w := startLatenessWatch(l)
	defer func() { // also where do ends the goroutine, as a test does that fails
		w.finish(r)
		r.Ended = l.now()
	}()
	return r, do()
}

// finish reports what was measured.
func (w *latenessWatch) finish(r *Report) {
	w.stop.Store(true)
	close(w.done)
	w.wait.Wait()
	r.Stalls, r.OrdinaryStall = append(r.Stalls, w.stalls...), w.ordinary
	r.Starved, r.Stolen, r.Waited, r.Locked = w.starved, w.stolen, w.waited, w.locked
}
