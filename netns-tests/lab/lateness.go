package lab

import (
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

// stallLimit is the lateness of a real-time thread that is reported.
const stallLimit = 5 * time.Millisecond

// starvedLimit is the lateness of an ordinary process that is reported.
const starvedLimit = 10 * time.Millisecond

// Stall is a time in which the machine itself did not run.
type Stall struct {
	At     time.Duration `json:"at"`
	Length time.Duration `json:"length"`
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
				w.watch(&w.stalls, stallLimit)
			}
		})
	}
	w.wait.Go(func() {
		runtime.LockOSThread() // never unlocked: the thread has another policy
		if setScheduler(0, unix.SCHED_NORMAL, 0) == nil {
			w.watch(&w.starved, starvedLimit)
		}
	})
	return w
}

// watch sleeps 2 ms at a time, and notes how much later than that it goes on.
func (w *latenessWatch) watch(to *[]Stall, limit time.Duration) {
	for !w.stop.Load() {
		due := w.now() + 2*time.Millisecond
		nap(2 * time.Millisecond)
		if late := w.now() - due; late > limit {
			w.mu.Lock()
			*to = append(*to, Stall{At: due, Length: late})
			w.mu.Unlock()
		}
	}
}

func (w *latenessWatch) finish() (stalls, starved []Stall) {
	w.stop.Store(true)
	w.wait.Wait()
	return w.stalls, w.starved
}

// StoodStill does something, and returns for how long the machine, or an ordinary process on it, stood still meanwhile within any one second.
func StoodStill(do func() error) (time.Duration, error) {
	began := time.Now()
	w := startLatenessWatch(func() time.Duration { return time.Since(began) })
	err := do()
	return standstill(joined(w.finish())), err
}
