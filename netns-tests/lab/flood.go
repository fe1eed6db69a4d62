package lab

import (
	"errors"
	"runtime"
	"sync"
	"sync/atomic"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/keepvip/keepvip/netns-tests/try"
)

// Flood is a stream of prepared frames from one host.
type Flood struct {
	stop atomic.Bool
	sent atomic.Int64
	wait sync.WaitGroup
}

const (
	// floodBatch is how many frames one call gives to the kernel.
	floodBatch = 64
	// floodThread is what one thread sends in a second without being behind. The kernel carries each frame through the switch into its receiver on
	// the processor that has sent it, so a faster flood needs threads on more of them.
	floodThread = 15_000
)

// Flood sends the frames from the peer, one after the other and from the start
// again, so many in a second. A sender that was late sends at most 20 ms' worth
// at once: it is junk, not a benchmark of the switch.
func (l *Lab) Flood(from *Peer, frames [][]byte, perSecond int) (_ *Flood, err error) {
	defer try.Catch(&err)
	index := try.Get(from.linkIndex("eth0"))
	threads := min((perSecond+floodThread-1)/floodThread, runtime.NumCPU(), len(frames))
	fds := make([]int, threads)
	pastQueues := option(unix.SOL_PACKET, unix.PACKET_QDISC_BYPASS, 1)
	for i := range fds {
		if fds[i], err = packetSocket(from.Namespace, 0, index, pastQueues); err != nil {
			for _, fd := range fds[:i] {
				unix.Close(fd)
			}
			return nil, err
		}
	}
	f := &Flood{}
	for i, fd := range fds {
		share := frames[i*len(frames)/threads : (i+1)*len(frames)/threads]
		f.wait.Go(func() { f.run(l, fd, messages(share), perSecond/threads) })
	}
	return f, nil
}

// message is struct mmsghdr of sendmmsg(2).
type message struct {
	header unix.Msghdr
	length uint32
	_      [4]byte
}

// messages are the frames as sendmmsg takes them.
func messages(frames [][]byte) []message {
	vectors, all := make([]unix.Iovec, len(frames)), make([]message, len(frames))
	for i, f := range frames {
		vectors[i].Base = &f[0]
		vectors[i].SetLen(len(f))
		all[i].header.Iov = &vectors[i]
		all[i].header.SetIovlen(1)
	}
	return all
}

// sendBatch sends messages, and returns how many the kernel took.
func sendBatch(fd int, batch []message) (int, error) {
	n, _, errno := unix.Syscall6(unix.SYS_SENDMMSG, uintptr(fd), uintptr(unsafe.Pointer(&batch[0])), uintptr(len(batch)), unix.MSG_DONTWAIT, 0, 0)
	if errno != 0 {
		return 0, errno
	}
	return int(n), nil
}

func (f *Flood) run(l *Lab, fd int, all []message, perSecond int) {
	runtime.LockOSThread() // never unlocked: the thread has another policy
	defer unix.Close(fd)
	// Measuring threads and programs under test must be able to interrupt it.
	if setScheduler(0, unix.SCHED_NORMAL, 0) != nil {
		return
	}
	gap := time.Second / time.Duration(perSecond)
	next := l.Now()
	for at := 0; !f.stop.Load(); {
		now := l.Now()
		next = max(next, now-20*time.Millisecond)
		for next <= now && !f.stop.Load() {
			due := min(int((now-next)/gap)+1, floodBatch, len(all)-at)
			n, err := sendBatch(fd, all[at:at+due])
			if err != nil && !errors.Is(err, unix.EINTR) {
				n = 1 // it is lost, as one that the link has no room for is
			} else {
				f.sent.Add(int64(n))
			}
			at = (at + n) % len(all)
			next += gap * time.Duration(max(n, 1))
		}
		ts := unix.NsecToTimespec(max(next-l.Now(), time.Millisecond).Nanoseconds())
		_ = unix.Nanosleep(&ts, nil)
	}
}

// Stop ends the flood and returns how many frames were sent.
func (f *Flood) Stop() int {
	f.stop.Store(true)
	f.wait.Wait()
	return int(f.sent.Load())
}
