package lab

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// delayEvery is the time between two looks at how long programs under test have waited for a processor.
const delayEvery = 50 * time.Millisecond

// delayWatch reads from the kernel for how long the threads of programs under test could have run, and had no processor (the second number of schedstat,
// proc(5)). A thread of the lab that only sleeps and wakes is served sooner than they are on a busy machine, so its lateness does not tell. The numbers are
// sums, so that they are right however late this looks.
type delayWatch struct {
	now  func() time.Duration
	pids func() []int
	stop atomic.Bool
	wait sync.WaitGroup

	at     time.Duration
	last   map[int]map[int]time.Duration // by process and thread
	waited []Stall
}

func startDelayWatch(now func() time.Duration, pids func() []int) *delayWatch {
	w := &delayWatch{now: now, pids: pids}
	w.look()
	w.wait.Go(func() {
		for !w.stop.Load() {
			time.Sleep(delayEvery)
			w.look()
		}
	})
	return w
}

func (w *delayWatch) finish() []Stall {
	w.stop.Store(true)
	w.wait.Wait()
	return w.waited
}

// look notes what each process has waited since the look before, all of its threads together. One that was not there then begins now.
func (w *delayWatch) look() {
	at, seen := w.now(), map[int]map[int]time.Duration{}
	var most time.Duration
	for _, pid := range w.pids() {
		threads := delaysOf(pid)
		seen[pid] = threads
		before, known := w.last[pid]
		if !known {
			continue
		}
		var sum time.Duration
		for tid, d := range threads {
			sum += d - before[tid]
		}
		most = max(most, sum)
	}
	if most = min(most, at-w.at); most > starvedLimit {
		w.waited = append(w.waited, Stall{At: w.at, Length: most, CPU: -1})
	}
	w.at, w.last = at, seen
}

// delaysOf is for how long each thread of a process has waited for a processor since it began; nothing of one that has ended.
func delaysOf(pid int) map[int]time.Duration {
	all, err := threads(pid)
	if err != nil {
		return nil
	}
	out := map[int]time.Duration{}
	for _, tid := range all {
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/schedstat", pid, tid))
		if err != nil {
			continue
		}
		if fields := strings.Fields(string(text)); len(fields) == 3 {
			if ns, err := strconv.ParseInt(fields[1], 10, 64); err == nil {
				out[tid] = time.Duration(ns)
			}
		}
	}
	return out
}

// daemonName is that of the processes whose waiting for a processor counts.
const daemonName = "keepvip"

// daemons are the ids of the keepvip processes on all nodes that have not ended.
func (l *Lab) daemons() (pids []int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	alive := l.watched[:0]
	for _, p := range l.watched {
		if p.Alive() {
			alive, pids = append(alive, p), append(pids, p.PID())
		}
	}
	l.watched = alive
	return pids
}

// note has a process counted among the daemons, if it is one.
func (l *Lab) note(p *Process) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if p.Name == daemonName {
		l.watched = append(l.watched, p)
	}
}
