package lifeline

import (
	"context"
	"errors"
	"io"
	"net"
	"net/netip"
	"syscall"
	"time"

	"github.com/keepvip/keepvip/internal/base/code"
	"github.com/keepvip/keepvip/internal/base/places"
	"github.com/keepvip/keepvip/internal/base/reset"
)

const (
	// silentFor is after which silence a line is given up here: its other end says something each ten seconds.
	silentFor = 3 * sayEvery
	// listenPause is the time between two tries to listen.
	listenPause = 2 * time.Second
	// acceptPause keeps a socket that fails from taking the processor.
	acceptPause = 100 * time.Millisecond
	// mostGreeting is how many callers from a member's address may not have shown yet who they are.
	mostGreeting = 2
	// callersInTurn keep a flood of strangers, of whom each takes some 60 microseconds, to about half of a processor.
	callersInTurn = 16
)

// listen accepts the lines of members until all ends.
func (l *Lines) listen() {
	said := false
	for l.ctx.Err() == nil {
		listener, err := l.cfg.bind()
		if err == nil {
			wakes := context.AfterFunc(l.ctx, func() { _ = listener.Close() })
			l.accept(listener)
			wakes()
			_ = listener.Close()
		} else if !said {
			l.cfg.Log.Info("no lifelines of the others: their end is heard by their silence alone", "interface", l.cfg.Interface.Name, "error", err,
				"code", string(code.NoLifeline))
		}
		said = err != nil
		l.pause(listenPause, nil)
	}
}

func (l *Lines) accept(listener net.Listener) {
	turns := places.Turns{Of: callersInTurn}
	for l.ctx.Err() == nil {
		turns.Next()
		c, err := listener.Accept()
		switch {
		case errors.Is(err, net.ErrClosed):
			return
		case err != nil: // out of descriptors: it passes
			l.pause(acceptPause, nil)
			continue
		}
		from := places.AddressOf(c)
		m := l.enter(from)
		if m == nil {
			_ = reset.Close(c) // a stranger, who gets nothing
			continue
		}
		l.wg.Go(func() { l.serve(c, from, m) })
	}
}

// enter lets a caller from a member's address show who it is; nil: it may not.
func (l *Lines) enter(from netip.Addr) *member {
	l.mu.Lock()
	defer l.mu.Unlock()
	m := l.members[from]
	if m == nil || l.closed || time.Since(m.heard) >= heardFor || m.greeting >= mostGreeting {
		return nil
	}
	m.greeting++
	return m
}

// serve is the line of a member from its greeting to its end.
func (l *Lines) serve(c net.Conn, from netip.Addr, m *member) {
	settle := l.wake(c)
	defer settle()
	_ = c.SetDeadline(time.Now().Add(greetTime))
	err := welcome(c, ends{from, l.cfg.Source}, func(s uint64) bool { return l.says(m, s) }, l.cfg.Keys)
	if !l.begin(c, m, err == nil) {
		_ = reset.Close(c)
		if err != nil && l.ctx.Err() == nil {
			l.cfg.Log.Debug("a lifeline was refused", "from", from.String(), "error", err)
		}
		return
	}
	died := l.hear(c)
	at := time.Now()
	if died && l.end(c, m) {
		l.tell(Event{Ended, from, at})
	} else {
		l.end(c, m)
	}
	if l.ctx.Err() != nil {
		settle()
		sayGoodBye(c)
	}
	_ = c.Close()
}

// begin makes a caller that has shown who it is the line of the member, in place of one before: it has ended, and this end has not heard of it.
func (l *Lines) begin(c net.Conn, m *member, shown bool) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	m.greeting--
	if !shown || l.closed {
		return false
	}
	if m.accepted != nil {
		_ = m.accepted.Close()
	}
	m.accepted = c
	return true
}

// end takes the line of a member away, and tells whether it was the one that counts.
func (l *Lines) end(c net.Conn, m *member) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if m.accepted != c {
		return false
	}
	m.accepted = nil
	return true
}

// hear waits for the end of a line, and tells whether the kernel at its other end has closed it for a process that had not said good-bye.
func (l *Lines) hear(c net.Conn) (died bool) {
	buf := make([]byte, 16)
	for {
		_ = c.SetDeadline(time.Now().Add(silentFor))
		if l.ctx.Err() != nil { // it may have been woken before that
			return false
		}
		n, err := c.Read(buf)
		switch {
		case n > 0 && buf[n-1] == goodBye:
			return false
		case err != nil:
			return errors.Is(err, io.EOF) || errors.Is(err, syscall.ECONNRESET)
		}
	}
}
