package lab

import (
	"runtime"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

// Flood is a stream of prepared frames from one host.
type Flood struct {
	stop atomic.Bool
	sent atomic.Int64
	done chan struct{}
}

// Flood sends the frames from the peer, one after the other and from the start
// again, so many in a second. A sender that was late sends at most 20 ms' worth
// at once: it is junk, not a benchmark of the switch.
func (l *Lab) Flood(from *Peer, frames [][]byte, perSecond int) (*Flood, error) {
	index, err := from.linkIndex("eth0")
	if err != nil {
		return nil, err
	}
	fd, err := packetSocket(from.Namespace, 0, index)
	if err != nil {
		return nil, err
	}
	f := &Flood{done: make(chan struct{})}
	go f.run(l, fd, frames, perSecond)
	return f, nil
}

func (f *Flood) run(l *Lab, fd int, frames [][]byte, perSecond int) {
	defer close(f.done)
	runtime.LockOSThread() // never unlocked: the thread has another policy
	defer unix.Close(fd)
	// Measuring threads and programs under test must be able to interrupt it.
	if setScheduler(0, unix.SCHED_NORMAL, 0) != nil {
		return
	}
	gap := time.Second / time.Duration(perSecond)
	next := l.now()
	for i := 0; !f.stop.Load(); {
		now := l.now()
		next = max(next, now-20*time.Millisecond)
		for ; next <= now; next += gap {
			if _, err := unix.Write(fd, frames[i%len(frames)]); err == nil {
				f.sent.Add(1)
			}
			i++
		}
		ts := unix.NsecToTimespec(max(next-l.now(), time.Millisecond).Nanoseconds())
		_ = unix.Nanosleep(&ts, nil)
	}
}

// Stop ends the flood and returns how many frames were sent.
func (f *Flood) Stop() int {
	f.stop.Store(true)
	<-f.done
	return int(f.sent.Load())
}
