package lab

import (
	"fmt"
	"net"
	"net/netip"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

// LocalFlood is what a user of a node does to a TCP listener there: connections that ask nothing, and requests.
type LocalFlood struct {
	stop           atomic.Bool
	done           sync.WaitGroup
	opened, failed atomic.Int64
	held           []int // of the one that holds
}

// FloodLocal opens connections as that user, holds them, and then asks for the path so many times in a second, with a
// connection for each. At most one flood at a time is of use: it takes what processor time there is.
func (n *Node) FloodLocal(to netip.AddrPort, user uint32, hold, perSecond int, path string) (*LocalFlood, error) {
	f := &LocalFlood{}
	ready := make(chan error, 1)
	f.done.Go(func() {
		runtime.LockOSThread() // never unlocked: the thread is another user's
		err := n.enter()
		if err == nil {
			err = setScheduler(0, unix.SCHED_NORMAL, 0)
		}
		unix.RawSyscall(unix.SYS_SETFSUID, uintptr(user), 0, 0) // the user of sockets
		ready <- err
		if err == nil {
			f.run(to, hold, perSecond, path)
		}
	})
	return f, <-ready
}

func (f *LocalFlood) run(to netip.AddrPort, hold, perSecond int, path string) {
	defer func() {
		for _, fd := range f.held {
			_ = unix.Close(fd)
		}
	}()
	for range hold {
		if fd, err := f.connect(to); err == nil {
			f.held = append(f.held, fd)
		}
	}
	request := []byte("GET " + path + " HTTP/1.1\r\nHost: a\r\n\r\n")
	answer := make([]byte, 64<<10)
	gap := time.Second / time.Duration(perSecond)
	for next := time.Now(); !f.stop.Load(); next = next.Add(gap) {
		time.Sleep(time.Until(next))
		fd, err := f.connect(to)
		if err != nil {
			continue
		}
		if _, err := unix.Write(fd, request); err == nil {
			_, _ = unix.Read(fd, answer)
		}
		_ = unix.Close(fd)
	}
}

func (f *LocalFlood) connect(to netip.AddrPort) (int, error) {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err == nil {
		wait := unix.Timeval{Usec: 200_000}
		_ = unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &wait)
		_ = unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_SNDTIMEO, &wait)
		if err = unix.Connect(fd, sockaddr(to)); err != nil {
			_ = unix.Close(fd)
		}
	}
	if err != nil {
		f.failed.Add(1)
		return 0, err
	}
	f.opened.Add(1)
	return fd, nil
}

// Stop ends the flood and returns how many connections were opened, and how many attempts failed.
func (f *LocalFlood) Stop() (opened, failed int) {
	f.stop.Store(true)
	f.done.Wait()
	return int(f.opened.Load()), int(f.failed.Load())
}

// Ask asks a listener of the node, as root does, and returns the first line of the answer.
func (n *Node) Ask(to netip.AddrPort, path string, limit time.Duration) (line string, err error) {
	var c net.Conn
	if err := n.Do(func() (err error) { c, err = net.DialTimeout("tcp", to.String(), limit); return err }); err != nil {
		return "", err
	}
	defer c.Close()
	_ = c.SetDeadline(time.Now().Add(limit))
	if _, err := fmt.Fprintf(c, "GET %s HTTP/1.1\r\nHost: a\r\n\r\n", path); err != nil {
		return "", err
	}
	_, err = fmt.Fscanf(c, "HTTP/1.1 %s", &line)
	return line, err
}
