package lab

import (
	"encoding/binary"
	"errors"
	"io"
	"net/netip"
	"runtime"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/keepvip/keepvip/netns-tests/try"
)

// Transfers is a TCP server of one node that gives or takes as many octets as it is asked to. A thread of its own serves each connection, and
// says what processor time that took. The kernel does what it does for a packet in the thread that sends it, on all hosts of the lab on
// its way: so what two threads have used, and the kernel's own for what it puts off, is what a transfer has cost, whatever else runs on the machine.
type Transfers struct {
	node  *Node
	wait  sync.WaitGroup
	mu    sync.Mutex
	fds   map[int]struct{} // of listeners and connections, until their threads close them
	ended bool
}

// A request is transferRequest octets: its kind, and in the last eight how many octets it is about.
const (
	transferRequest = 16
	transferPing    = 'p' // returned as it is
	transferDown    = 'd' // so many octets come, and then the report
	transferUp      = 'u' // so many octets follow, and then comes the report
	transferReport  = 8   // octets: the processor time of the server's thread for it, in nanoseconds
	transferBlock   = 256 << 10
	transferName    = 8 // octets: the label of the node, which the server says first
)

// StartTransfers begins to listen. It ends with the lab.
func (n *Node) StartTransfers(cfg GreeterConfig) (_ *Transfers, err error) {
	defer try.Say(&err, "lab: transfers on %s", n.Label)
	t := &Transfers{node: n, fds: map[int]struct{}{}}
	at := n.Address
	if cfg.Everywhere {
		at = netip.IPv4Unspecified()
	}
	fd, err := t.listen(netip.AddrPortFrom(at, cfg.Port))
	if err != nil {
		unix.Close(fd)
		return nil, err
	}
	t.add(fd, t.accept)
	n.lab.atEnd(t.Close)
	return t, nil
}

func (t *Transfers) listen(at netip.AddrPort) (fd int, err error) {
	err = t.node.Do(func() (err error) {
		fd, err = unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
		return err
	})
	if err == nil {
		err = errors.Join(unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_REUSEADDR, 1), unix.Bind(fd, sockaddr(at)), unix.Listen(fd, 64))
	}
	return fd, err
}

// add has a thread serve a socket, and close it.
func (t *Transfers) add(fd int, serve func(fd int)) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.ended {
		unix.Close(fd)
		return
	}
	t.fds[fd] = struct{}{}
	t.wait.Go(func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		serve(fd)
		t.mu.Lock()
		defer t.mu.Unlock()
		delete(t.fds, fd)
		unix.Close(fd)
	})
}

func (t *Transfers) accept(listener int) {
	for {
		fd, _, err := unix.Accept4(listener, unix.SOCK_CLOEXEC)
		switch err {
		case nil:
			t.add(fd, t.serve)
		case unix.EINTR, unix.ECONNABORTED:
		default:
			return
		}
	}
}

func (t *Transfers) serve(fd int) {
	_ = unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_NODELAY, 1)
	c := blocking(fd)
	_ = t.answer(c) // what fails is over, and the client sees that it is
}

// answer says who it is, and then does what it is asked to, until that fails.
func (t *Transfers) answer(c blocking) (err error) {
	defer try.Catch(&err)
	name := make([]byte, transferName)
	copy(name, t.node.Label)
	try.Get(c.Write(name))
	request, block := make([]byte, transferRequest), make([]byte, transferBlock)
	for {
		try.Get(io.ReadFull(c, request))
		before, octets := threadTime(), int(binary.BigEndian.Uint64(request[8:]))
		switch request[0] {
		case transferPing:
			try.Get(c.Write(request))
			continue
		case transferDown:
			try.Do(many(c.Write, block, octets))
		case transferUp:
			try.Do(many(c.Read, block, octets))
		}
		try.Get(c.Write(binary.BigEndian.AppendUint64(nil, uint64(threadTime()-before))))
	}
}

// Close ends the server and its connections. To call it again does nothing.
func (t *Transfers) Close() {
	t.mu.Lock()
	t.ended = true
	for fd := range t.fds {
		_ = unix.Shutdown(fd, unix.SHUT_RDWR)
	}
	t.mu.Unlock()
	t.wait.Wait()
}

// threadTime is the processor time of the calling thread.
func threadTime() time.Duration { return clockTime(unix.CLOCK_THREAD_CPUTIME_ID) }

func clockTime(clock int32) time.Duration {
	var ts unix.Timespec
	_ = unix.ClockGettime(clock, &ts)
	return time.Duration(ts.Nano())
}

// blocking is a TCP socket. Whoever reads or writes it waits in the kernel, which has that thread do the work.
type blocking int

// Read waits for something. The end of the connection is an error like any other.
func (b blocking) Read(to []byte) (int, error) {
	for {
		n, err := unix.Read(int(b), to)
		switch {
		case err == unix.EINTR:
		case err == nil && n == 0:
			return 0, unix.ECONNRESET
		default:
			return n, err
		}
	}
}

// Write sends everything.
func (b blocking) Write(all []byte) (sent int, _ error) {
	for sent < len(all) {
		n, err := unix.SendmsgN(int(b), all[sent:], nil, nil, unix.MSG_NOSIGNAL)
		if err != nil && err != unix.EINTR {
			return sent, err
		}
		sent += max(n, 0)
	}
	return sent, nil
}

// many moves so many octets by a call that moves a block or a part of it.
func many(move func([]byte) (int, error), block []byte, octets int) error {
	for octets > 0 {
		n, err := move(block[:min(octets, len(block))])
		if err != nil {
			return err
		}
		octets -= n
	}
	return nil
}
