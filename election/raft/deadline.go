package raft

import (
	"net"
	"sync"
	"time"

	"github.com/keepvip/keepvip/internal/alarm"
)

// deadlineConn is a connection whose deadlines end at moments at which heartbeats are due anyway: that of a call that was answered
// wakes the process up nevertheless, and the library sets one for each. They are timers of the stream's clock.
type deadlineConn struct {
	net.Conn
	stream *stream
	timer  *alarm.Timer
	closed chan struct{}
	once   sync.Once

	mu    sync.Mutex // guards what follows
	until time.Time  // zero: no deadline
	over  bool       // the deadline has passed, and Conn knows it
}

// withDeadlines takes over a connection.
func (s *stream) withDeadlines(c net.Conn) *deadlineConn {
	l := &deadlineConn{Conn: c, stream: s, timer: s.clock.Timer(), closed: make(chan struct{})}
	go l.watch()
	return l
}

// watch ends when the connection is closed.
func (l *deadlineConn) watch() {
	for {
		select {
		case <-l.timer.C:
			l.expire()
		case <-l.closed:
			return
		}
	}
}

// longAgo makes whatever waits for a connection return.
var longAgo = time.Unix(1, 0)

// expire ends what is under way, unless it was given more time meanwhile.
func (l *deadlineConn) expire() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.until.IsZero() || time.Now().Before(l.until) {
		return
	}
	l.over = l.Conn.SetDeadline(longAgo) == nil
}

// SetDeadline sets it up to a step later.
func (l *deadlineConn) SetDeadline(at time.Time) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if at.IsZero() {
		l.until = at
		l.timer.Stop()
	} else {
		l.until = l.stream.next(at)
		l.timer.Set(l.until)
	}
	if !l.over {
		return nil
	}
	l.over = false
	return l.Conn.SetDeadline(time.Time{})
}

// Close implements net.Conn.
func (l *deadlineConn) Close() error {
	l.once.Do(func() {
		close(l.closed)
		l.timer.Stop()
	})
	return l.Conn.Close()
}
