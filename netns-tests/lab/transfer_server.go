package lab

import (
	"context"
	"encoding/binary"
	"io"
	"net"
	"net/netip"
	"runtime"
	"time"

	"golang.org/x/sys/unix"

	"github.com/keepvip/keepvip/netns-tests/try"
)

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

// StartTransfers has the node give or take as many octets as it is asked to, over TCP and IPv4, until the lab ends. A thread of its own serves
// each connection, and says what processor time that took. The kernel does what it does for a packet in the thread that sends it, on all hosts of
// the lab on its way: so what two threads have used, and the kernel's own for what it puts off, is what a transfer has cost, whatever else runs on
// the machine.
func (n *Node) StartTransfers(cfg GreeterConfig) (_ *Server, err error) {
	defer try.Say(&err, "lab: transfers on %s", n.Label)
	at := n.Address
	if cfg.Everywhere {
		at = netip.IPv4Unspecified()
	}
	s := try.Get(n.serve(n.transfers, netip.AddrPortFrom(at, cfg.Port).String()))
	n.lab.atEnd(s.Close)
	return s, nil
}

// transfers says who it is, and then does what it is asked to, until that fails.
func (n *Node) transfers(ctx context.Context, conn net.Conn) (err error) {
	defer try.Catch(&err)
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	c := try.Get(blockingOf(conn))
	defer c.close()
	defer context.AfterFunc(ctx, func() { _ = unix.Shutdown(int(c), unix.SHUT_RDWR) })()
	name := make([]byte, transferName)
	copy(name, n.Label)
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

// threadTime is the processor time of the calling thread.
func threadTime() time.Duration { return clockTime(unix.CLOCK_THREAD_CPUTIME_ID) }

func clockTime(clock int32) time.Duration {
	var ts unix.Timespec
	_ = unix.ClockGettime(clock, &ts)
	return time.Duration(ts.Nano())
}

// blocking is a TCP socket. Whoever reads or writes it waits in the kernel, which has that thread do the work.
type blocking int

// blockingOf takes a connection over from the runtime, which would have other threads wait.
func blockingOf(c net.Conn) (b blocking, err error) {
	defer try.Catch(&err)
	defer c.Close()
	f := try.Get(c.(*net.TCPConn).File())
	defer f.Close()
	return blocking(try.Get(unix.FcntlInt(f.Fd(), unix.F_DUPFD_CLOEXEC, 0))), nil
}

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

func (b blocking) close() { unix.Close(int(b)) }

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
