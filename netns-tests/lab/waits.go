package lab

import (
	"encoding/binary"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

const (
	// waitsEvery is how often is asked how long threads under test have waited for a processor.
	waitsEvery = 10 * time.Millisecond
	// threadsEvery is how many times that new threads are looked for.
	threadsEvery = 5
	// lockEvery is how often is tried whether the kernel lets interfaces and addresses be changed.
	lockEvery = 5 * time.Millisecond
)

// watchWaits returns when threads of the programs under test waited for a processor for longer than starvedLimit. A thread that only
// sleeps and wakes is let in soon; one that has just worked is not, and a program that does something in several steps waits before each.
func watchWaits(l *Lab, stop *atomic.Bool) []Stall {
	lockMeasuringThread()
	w := waits{threads: map[string]*waitingThread{}}
	defer w.close()
	for look := 0; !stop.Load(); look++ {
		if look%threadsEvery == 0 {
			w.follow(l.underTest())
		}
		w.look(l.now())
		nap(waitsEvery)
	}
	return w.found
}

// waits are the threads that are watched, by their directories in /proc, and what was found.
type waits struct {
	threads map[string]*waitingThread
	found   []Stall
}

type waitingThread struct {
	fd     int // of its schedstat
	waited time.Duration
}

// follow watches these processes. Where there are none, what was watched explains nothing any more.
func (w *waits) follow(pids []int) {
	if len(pids) == 0 {
		w.close()
	}
	for _, pid := range pids {
		w.find(pid)
	}
}

// find adds the threads of a process that are new.
func (w *waits) find(pid int) {
	dir := fmt.Sprintf("/proc/%d/task", pid)
	f, err := os.Open(dir)
	if err != nil {
		return
	}
	defer f.Close()
	names, _ := f.Readdirnames(-1)
	for _, name := range names {
		path := dir + "/" + name + "/schedstat"
		if w.threads[path] != nil {
			continue
		}
		fd, err := unix.Open(path, unix.O_RDONLY|unix.O_CLOEXEC, 0)
		if err != nil {
			continue
		}
		t := &waitingThread{fd: fd}
		t.waited, _ = t.read()
		w.threads[path] = t
	}
}

// look takes down what has been waited for since the last look. The kernel counts a wait when it is over.
func (w *waits) look(now time.Duration) {
	for path, t := range w.threads {
		waited, ok := t.read()
		if !ok { // it has ended
			_ = unix.Close(t.fd)
			delete(w.threads, path)
			continue
		}
		if d := waited - t.waited; d > starvedLimit {
			w.found = append(w.found, Stall{At: now - d, Length: d, CPU: -1})
		}
		t.waited = waited
	}
}

func (w *waits) close() {
	for _, t := range w.threads {
		_ = unix.Close(t.fd)
	}
	clear(w.threads)
}

func (t *waitingThread) read() (time.Duration, bool) {
	var b [96]byte
	n, err := unix.Pread(t.fd, b[:], 0)
	if err != nil {
		return 0, false
	}
	return waitedFor(string(b[:n]))
}

// waitedFor is how long a thread has waited for a processor since it began, by the text of its schedstat (sched-stats in the kernel's
// documentation: the second figure, in nanoseconds).
func waitedFor(schedstat string) (time.Duration, bool) {
	fields := strings.Fields(schedstat)
	if len(fields) < 2 {
		return 0, false
	}
	ns, err := strconv.ParseInt(fields[1], 10, 64)
	return time.Duration(ns), err == nil
}

// watchLock returns when the kernel let nobody change an interface or an address for longer than starvedLimit: there is one lock for all
// network namespaces, and who removes a namespace may have it for a tenth of a second and more. To read an interface takes that lock.
func watchLock(l *Lab, stop *atomic.Bool) (found []Stall) {
	lockMeasuringThread()
	fd, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW|unix.SOCK_CLOEXEC, unix.NETLINK_ROUTE)
	if err != nil {
		return nil
	}
	defer unix.Close(fd)
	ask, answer := askForInterface(1), make([]byte, 1<<16)
	poll := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
	for !stop.Load() {
		began := l.now()
		// The kernel answers before it returns. It may take long, so it is a raw system call: see wait.go.
		_, _, errno := unix.RawSyscall6(unix.SYS_SENDTO, uintptr(fd), uintptr(unsafe.Pointer(unsafe.SliceData(ask))), uintptr(len(ask)), 0, 0, 0)
		took := l.now() - began
		if errno == 0 && took > starvedLimit {
			found = append(found, Stall{At: began, Length: took, CPU: -1})
		}
		waitReadable(poll, lockEvery)
		_, _, _ = unix.Recvfrom(fd, answer, unix.MSG_DONTWAIT)
		nap(lockEvery)
	}
	return found
}

// askForInterface is a request for the state of one interface (rtnetlink(7)).
func askForInterface(index uint32) []byte {
	const length = unix.NLMSG_HDRLEN + unix.SizeofIfInfomsg
	b := make([]byte, length)
	binary.NativeEndian.PutUint32(b, length)
	binary.NativeEndian.PutUint16(b[4:], unix.RTM_GETLINK)
	binary.NativeEndian.PutUint16(b[6:], unix.NLM_F_REQUEST)
	binary.NativeEndian.PutUint32(b[unix.NLMSG_HDRLEN+4:], index)
	return b
}
