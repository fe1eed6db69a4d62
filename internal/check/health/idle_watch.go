package health

import (
	"context"
	"io"
	"math/rand/v2"
	"sync"
	"time"
)

const (
	// settled is how long such a connection has to last for the next one to follow at once.
	settled = 2 * time.Second
	// leastGap and mostGap bound the pause after one that did not: the server does not want it.
	leastGap, mostGap = time.Second, time.Minute
)

// idleWatch is an idle connection to the probed service. Its end is an event, as a rule the death of the process, that needs no
// polling. It decides nothing: it asks for a probe.
//
// It may also be something else whose end makes it readable, as a handle on a process.
//
// It is a connection that a good probe leaves open, so that it opens none itself, and to an HTTP server it is what any client
// leaves behind: idle between two requests, closed by an orderly shutdown at once and never waited for.
type idleWatch struct {
	on     bool               // otherwise nothing is watched
	offers chan io.ReadCloser // capacity 1

	mu       sync.Mutex // guards what follows
	watched  bool
	conn     io.ReadCloser // nil: none
	since    time.Time
	unwanted bool // is in the way of the server
	gap      time.Duration
	next     time.Time // not before then
}

func newIdleWatch(on bool) *idleWatch { return &idleWatch{on: on, offers: make(chan io.ReadCloser, 1)} }

// wanted tells that the next good probe should leave its connection here.
func (l *idleWatch) wanted(now time.Time) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.watched && l.conn == nil && !now.Before(l.next)
}

// adopt takes over a connection that nothing is expected on any more.
func (l *idleWatch) adopt(conn io.ReadCloser, now time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.watched || l.conn != nil {
		_ = conn.Close() // of no use
		return
	}
	l.conn, l.since, l.unwanted = conn, now, false
	l.offers <- conn
}

// drop closes the connection without an event: because the server is known to go, or because it may be in its way, as in that
// of a server that serves one connection at a time.
func (l *idleWatch) drop(inTheWay bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.conn != nil {
		l.unwanted = l.unwanted || inTheWay
		_ = l.conn.Close() // wakes the reader
		l.conn = nil
	}
}

// watch waits for the end of one connection after another, in a goroutine of its own, until ctx ends.
func (l *idleWatch) watch(ctx context.Context, ended func()) (wait func()) {
	if !l.on {
		return func() {}
	}
	l.setWatched(true)
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer l.setWatched(false)
		l.follow(ctx, ended)
	}()
	return func() { <-done }
}

func (l *idleWatch) follow(ctx context.Context, ended func()) {
	for {
		select {
		case <-ctx.Done():
			return
		case conn := <-l.offers:
			if l.attend(ctx, conn) {
				ended()
			}
		}
	}
}

func (l *idleWatch) setWatched(yes bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.watched = yes
	if !yes && l.conn != nil {
		_ = l.conn.Close() // one that was adopted while the watch ended
		l.conn = nil
	}
}

// attend returns when conn has ended, and whether that is news.
func (l *idleWatch) attend(ctx context.Context, conn io.ReadCloser) (news bool) {
	stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
	defer stop()
	var b [1]byte
	_, _ = conn.Read(b[:]) // whatever comes, even data: it is idle no more
	_ = conn.Close()
	l.mu.Lock()
	defer l.mu.Unlock()
	news = l.conn == conn && ctx.Err() == nil
	if l.conn == conn {
		l.conn = nil
	}
	l.pace(time.Now())
	return news
}

// pace decides when there may be another one: a server that closes each at once must not be kept busy. The caller holds the lock.
func (l *idleWatch) pace(now time.Time) {
	if now.Sub(l.since) >= settled && !l.unwanted {
		l.gap, l.next = 0, now
		return
	}
	l.gap = min(max(2*l.gap, leastGap), mostGap)
	l.next = now.Add(l.gap*3/4 + time.Duration(rand.Int64N(int64(l.gap/2))))
}
