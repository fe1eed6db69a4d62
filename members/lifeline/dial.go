package lifeline

import (
	"context"
	"errors"
	"io"
	"net/netip"
	"os"
	"sync"
	"time"

	"github.com/keepvip/keepvip/internal/base/code"
)

const (
	// greetTime bounds how long it may take until both ends know each other.
	greetTime = 2 * time.Second
	// dialTime bounds how long a connection is waited for. The kernel of a member that does not listen refuses it with a TTL that is not 255, so nobody hears
	// that, and one that has begun to listen meanwhile is to be dialled anew.
	dialTime = 500 * time.Millisecond
	// sayEvery is the time between two signs of life: they keep filters on the way from forgetting the line, and show that the other end is gone.
	sayEvery = 10 * time.Second
	// unarmedPause is when the fence is looked at again, before this node is armed.
	unarmedPause = 500 * time.Millisecond
	// sayAfter is how often a member has to be dialled in vain before that is said: one that has just started does not know this node yet.
	sayAfter = 6
	// The pause before a member is dialled again grows from the first to the last. It begins anew with a member that begins anew: until it knows this node,
	// which is within a second or two, it refuses the line, and meanwhile it does not hear of this node's end.
	firstPause, lastPause = 250 * time.Millisecond, 30 * time.Second
)

// end is either end of a line.
type end interface {
	io.ReadWriter
	SetDeadline(time.Time) error
	SetWriteDeadline(time.Time) error
}

// keep has a line to a member, as long as that is heard.
func (l *Lines) keep(to netip.Addr, m *member) {
	pause, failed := time.Duration(0), 0
	for {
		anew := l.pause(pause, m.fresh)
		if l.ctx.Err() != nil {
			return
		}
		if anew {
			pause, failed = 0, 0
		}
		if l.forgotten(to, m, time.Now()) {
			return
		}
		sessions := l.own()
		if len(sessions) == 0 || !l.cfg.Armed() {
			pause = unarmedPause
			continue
		}
		began := time.Now()
		err := l.hold(to, m, sessions)
		failed++
		switch {
		case err == nil:
			failed = 0
		case failed == sayAfter && l.ctx.Err() == nil:
			l.cfg.Log.Info("no lifeline to a member: the end of this process would be heard there by its silence alone",
				"member", to.String(), "error", err, "code", string(code.NoLifeline))
		}
		pause = max(min(2*pause, lastPause), firstPause)
		if time.Since(began) > lastPause {
			pause = firstPause
		}
	}
}

// pause waits, and no longer than until a member has begun anew, which it tells, or all ends.
func (l *Lines) pause(d time.Duration, fresh <-chan struct{}) (anew bool) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-fresh:
		return true
	case <-l.ctx.Done():
	}
	return false
}

// hold makes a line and returns when it has ended. The error is why there was none.
func (l *Lines) hold(to netip.Addr, m *member, sessions []uint64) error {
	c, err := l.cfg.dial(l.ctx, to)
	if err != nil {
		return err
	}
	defer func() { _ = c.Close() }()
	settle := l.wake(c)
	defer settle()
	_ = c.SetDeadline(time.Now().Add(greetTime))
	if err := greet(c, ends{l.cfg.Source, to}, sessions, l.cfg.Keys); err != nil {
		return err
	}
	if err := setMark(c, l.cfg.Mark); err != nil {
		return err
	}
	l.dialled(m, true)
	select {
	case <-m.fresh: // it has answered
	default:
	}
	inOrder := l.live(c)
	l.dialled(m, false)
	at := time.Now()
	// Only a process that has ended may leave the mark on its way out.
	if setMark(c, 0) == nil && l.ctx.Err() != nil {
		settle()
		sayGoodBye(c)
	}
	if !inOrder {
		l.tell(Event{Broken, to, at})
	}
	return nil
}

// wake ends what waits on a line when all ends. The returned function takes that back, or waits until it is done.
func (l *Lines) wake(c end) (settle func()) {
	done := make(chan struct{})
	stop := context.AfterFunc(l.ctx, func() {
		defer close(done)
		_ = c.SetDeadline(time.Unix(1, 0))
	})
	return sync.OnceFunc(func() {
		if !stop() {
			<-done
		}
	})
}

// sayGoodBye is the last thing on a line that ends in order. One octet always has room.
func sayGoodBye(c end) {
	_ = c.SetDeadline(time.Now().Add(greetTime))
	_, _ = c.Write([]byte{goodBye})
}

func (l *Lines) dialled(m *member, on bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	m.dialled = on
}

// live stays on a line until it ends, and tells whether the other end has said so, or this node ends it.
func (l *Lines) live(c end) (inOrder bool) {
	buf := make([]byte, 16)
	for {
		_ = c.SetDeadline(time.Now().Add(sayEvery))
		if l.ctx.Err() != nil { // it may have been woken before that
			return true
		}
		n, err := c.Read(buf)
		switch {
		case n > 0 && buf[n-1] == goodBye:
			return true
		case err == nil:
		case errors.Is(err, os.ErrDeadlineExceeded):
			if l.ctx.Err() != nil {
				return true
			}
			_ = c.SetWriteDeadline(time.Now().Add(sayEvery))
			if _, err := c.Write([]byte{stillHere}); err != nil {
				return false
			}
		default:
			return false
		}
	}
}
