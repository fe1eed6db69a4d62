package localproxy

import (
	"errors"
	"io"
	"net"
	"net/netip"
	"sync"
	"sync/atomic"
	"syscall"

	"github.com/keepvip/keepvip/internal/base/places"
)

// pair is a connection of a client and one to a server.
type pair struct {
	client, server *net.TCPConn
	backend        netip.AddrPort
	left           atomic.Int32 // directions that go on
	place          *places.Place[*pair]
	lost           bool // another has its place; guarded by the proxy's lock
}

// breaks ends both connections by a reset.
func (c *pair) breaks() {
	abort(c.client)
	abort(c.server)
}

func abort(c *net.TCPConn) {
	if c != nil {
		_ = c.SetLinger(0)
		_ = c.Close()
	}
}

// pump copies one direction to its end, and passes that on.
func (c *pair) pump(from, to *net.TCPConn) {
	err := transfer(from, to)
	if err == nil {
		err = to.CloseWrite()
	}
	if err != nil {
		c.breaks()
	}
}

// buffers are in use while something goes through them: a connection on which nothing happens has none. (io.Copy would give each direction
// a pipe, with two file descriptors, for as long as the connection lasts.)
var buffers = sync.Pool{New: func() any { return new([32 << 10]byte) }}

func transfer(from, to *net.TCPConn) error {
	raw, err := from.SyscallConn()
	if err != nil {
		return err
	}
	var r reader
	try := r.try
	for {
		if err := raw.Read(try); err != nil {
			return err
		}
		n, err := r.n, r.err
		if n > 0 {
			_, err = to.Write(r.buffer[:n])
		}
		buffers.Put(r.buffer)
		r.buffer = nil
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// reader reads what is there, into a buffer that it takes only then.
type reader struct {
	buffer *[32 << 10]byte
	n      int
	err    error
}

// try is false as long as there is nothing to read.
func (r *reader) try(fd uintptr) bool {
	buffer := buffers.Get().(*[32 << 10]byte)
	for {
		r.n, r.err = syscall.Read(int(fd), buffer[:])
		if !errors.Is(r.err, syscall.EINTR) {
			break
		}
	}
	if errors.Is(r.err, syscall.EAGAIN) {
		buffers.Put(buffer)
		return false
	}
	if r.n == 0 && r.err == nil {
		r.err = io.EOF
	}
	r.buffer = buffer
	return true
}
