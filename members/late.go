package members

import (
	"errors"
	"net"
	"net/netip"
	"sync"
	"time"
)

// lateEvery is how long a Late waits before it tries again.
const lateEvery = time.Second

var errNotOpen = errors.New("members: the socket is not open yet")

// Late is a Socket that could not be opened, as while another process has its port, and is tried again until it can be.
// Nothing is heard and nothing can be said until then. One goroutine may be in Receive; Send and Close are safe from any.
type Late struct {
	open   func() (Socket, error)
	closed chan struct{}

	mu   sync.Mutex // guards sock, and closing
	sock Socket     // nil: not open yet
}

// NewLate opens nothing yet: Receive does, each second.
func NewLate(open func() (Socket, error)) *Late {
	return &Late{open: open, closed: make(chan struct{})}
}

// Receive implements Socket. It blocks while there is no socket.
func (l *Late) Receive(b []byte) (Arrival, error) {
	for {
		if s := l.current(); s != nil {
			return s.Receive(b)
		}
		select {
		case <-l.closed:
			return Arrival{}, net.ErrClosed
		case <-time.After(lateEvery):
			l.try()
		}
	}
}

// Send implements Socket.
func (l *Late) Send(b []byte, to ...netip.Addr) error {
	if s := l.current(); s != nil {
		return s.Send(b, to...)
	}
	return errNotOpen
}

// Behind tells whether a message has arrived that was not read yet.
func (l *Late) Behind() bool {
	s, ok := l.current().(reader)
	return ok && s.Behind()
}

func (l *Late) current() Socket {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.sock
}

// try leaves an error to the next time.
func (l *Late) try() {
	l.mu.Lock()
	defer l.mu.Unlock()
	select {
	case <-l.closed:
		return
	default:
	}
	if s, err := l.open(); err == nil {
		l.sock = s
	}
}

// Close implements Socket. It is called once.
func (l *Late) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	close(l.closed)
	if l.sock == nil {
		return nil
	}
	return l.sock.Close()
}
