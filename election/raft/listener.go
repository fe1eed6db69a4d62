package raft

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"sync"
	"time"

	"github.com/keepvip/keepvip/internal/base/places"
	"github.com/keepvip/keepvip/internal/base/reset"
)

const (
	// handshakeTime bounds how long a caller from a member's address may take to show that it is one.
	handshakeTime = 2 * time.Second
	// maxFromMember is how many may do so at a time from one address. One more ends the oldest: a member needs milliseconds,
	// and what else runs on its machine may not keep it out by calling and saying nothing.
	maxFromMember = 8
	// maxOpen is how many connections of one address are kept open, and of all unknown ones together. A member needs four;
	// the oldest are those that it had before it crashed.
	maxOpen = 16
	// callersInTurn, some 8,000 in a second, keep a flood below half of a processor: each that is refused takes some 60 microseconds. A member
	// that calls waits for at most one turn.
	callersInTurn = 16
)

// Reasons why a connection is refused.
const (
	rejectPlain   = "plaintext"   // no TLS
	rejectKey     = "certificate" // of another key
	rejectSlow    = "handshake-timeout"
	rejectCrowd   = "too-many-connections"
	rejectGarbage = "handshake" // anything else that is no handshake of a member
)

// refuser is told of what was refused.
type refuser func(from netip.Addr, reason string, err error)

// listener accepts members, and hands their connections on by protocol. Callers from the addresses of members have places of
// their own: no other caller takes one of them, or makes a member wait.
type listener struct {
	inner  net.Listener
	tls    *tls.Config
	known  func(netip.Addr) bool // whether an address is a member's; it is called under the lock
	refuse refuser
	doors  map[string]func(net.Conn) // by ALPN protocol; they must not block

	wg sync.WaitGroup

	mu      sync.Mutex // guards what follows
	closed  bool
	unknown unknownCallers
	shaking callers // whose handshake goes on
	open    callers // whose handshake has succeeded
}

func newListener(inner net.Listener, id *Identity, known func(netip.Addr) bool, refuse refuser, doors map[string]func(net.Conn)) *listener {
	var protocols []string
	for p := range doors {
		protocols = append(protocols, p)
	}
	return &listener{
		inner: inner, tls: id.server(protocols...), known: known, refuse: refuse, doors: doors,
		shaking: callers{}, open: callers{},
	}
}

// serve accepts until close.
func (l *listener) serve() {
	turns := places.Turns{Of: callersInTurn}
	for {
		turns.Next() // callers without end do not keep the processor from what members have said
		c, err := l.inner.Accept()
		switch {
		case errors.Is(err, net.ErrClosed):
			return
		case err != nil:
			time.Sleep(10 * time.Millisecond) // out of descriptors: it passes
			continue
		}
		from := places.AddressOf(c)
		limit, ok := l.enter(from, c)
		if !ok {
			l.refuse(from, rejectCrowd, nil)
			_ = reset.Close(c)
			continue
		}
		l.wg.Go(func() { l.admit(from, c, limit) })
	}
}

// enter gives a caller a place for its handshake, and says how long that may take.
func (l *listener) enter(from netip.Addr, c net.Conn) (time.Duration, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return 0, false
	}
	if !l.known(from) {
		ok := l.unknown.take(time.Now(), from)
		if ok {
			l.shaking.add(from, c, maxUnknown)
		}
		return unknownTime, ok
	}
	if oldest := l.shaking.add(from, c, maxFromMember); oldest != nil {
		_ = reset.Close(oldest)
	}
	return handshakeTime, true
}

// leave ends the handshake of a caller; false when it had to make room for another.
func (l *listener) leave(from netip.Addr, c net.Conn) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.shaking.remove(from, c)
}

// keep notes a member's connection; false when there are too many already.
func (l *listener) keep(from netip.Addr, c net.Conn) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed || !l.known(from) && l.open.without(l.known) >= maxOpen {
		return false
	}
	if oldest := l.open.add(from, c, maxOpen); oldest != nil {
		_ = reset.Close(oldest)
	}
	return true
}

func (l *listener) forget(from netip.Addr, c net.Conn) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.open.remove(from, c)
}

// admit carries out the handshake and hands the connection on.
func (l *listener) admit(from netip.Addr, c net.Conn, limit time.Duration) {
	conn := tls.Server(c, l.tls)
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	err := conn.HandshakeContext(ctx)
	cancel()
	switch stayed := l.leave(from, c); {
	case !stayed:
		l.refuse(from, rejectCrowd, nil)
	case err != nil:
		l.refuse(from, reasonOf(err), err)
	case !l.keep(from, c):
		l.refuse(from, rejectCrowd, nil)
	default:
		l.doors[conn.ConnectionState().NegotiatedProtocol](&admitted{Conn: conn, l: l, from: from, raw: c})
		return
	}
	_ = c.Close() // refused
}

// admitted is a member's connection; closing it makes room for another.
type admitted struct {
	net.Conn
	l    *listener
	from netip.Addr
	raw  net.Conn
	once sync.Once
}

// Close implements net.Conn.
func (a *admitted) Close() error {
	a.once.Do(func() { a.l.forget(a.from, a.raw) })
	return a.Conn.Close()
}

// close ends every connection, and returns when no handshake goes on.
func (l *listener) close() error {
	err := l.inner.Close()
	l.hangUp()
	l.mu.Lock()
	l.closed = true
	l.mu.Unlock()
	l.hangUp()
	l.wg.Wait()
	return err
}

// hangUp ends the connections that there are: after a change of keys their callers show themselves anew.
func (l *listener) hangUp() {
	l.mu.Lock()
	conns := append(l.shaking.all(), l.open.all()...)
	l.mu.Unlock()
	for _, c := range conns {
		_ = c.Close() // whoever uses it finds out
	}
}

func reasonOf(err error) string {
	var record tls.RecordHeaderError
	var timeout net.Error
	var op *net.OpError
	switch {
	case errors.As(err, &record):
		return rejectPlain
	case errors.Is(err, errUntrusted), errors.As(err, &op) && op.Op == "remote error":
		return rejectKey // the caller does not believe us
	case errors.Is(err, context.DeadlineExceeded), errors.As(err, &timeout) && timeout.Timeout():
		return rejectSlow
	case errors.Is(err, io.EOF), errors.Is(err, net.ErrClosed):
		return rejectGarbage
	}
	return rejectGarbage
}

// dialer calls members from this node's own address.
type dialer struct {
	id   *Identity
	self netip.Addr
	port uint16
}

// dial opens a connection that speaks protocol.
func (d dialer) dial(ctx context.Context, to netip.Addr, protocol string) (net.Conn, error) {
	inner := net.Dialer{LocalAddr: net.TCPAddrFromAddrPort(netip.AddrPortFrom(d.self, 0))}
	outer := tls.Dialer{NetDialer: &inner, Config: d.id.client(protocol)}
	c, err := outer.DialContext(ctx, "tcp", netip.AddrPortFrom(to, d.port).String())
	if err != nil {
		return nil, fmt.Errorf("raft: call %s: %w", to, err)
	}
	return c, nil
}
