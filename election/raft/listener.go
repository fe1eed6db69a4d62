package raftelection

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
)

const (
	// handshakeTime bounds how long a caller may take to show that it is a member.
	handshakeTime = 2 * time.Second
	// maxHandshakes is how many callers may be showing that at a time; more are refused at once. A cluster of nine that
	// restarts as a whole needs fewer.
	maxHandshakes = 32
	// maxFromOne is how many of them may come from one address.
	maxFromOne = 8
	// maxConns is how many members' connections are kept open.
	maxConns = 128
)

// Reasons why a connection is refused.
const (
	RejectPlain   = "plaintext"   // no TLS
	RejectKey     = "certificate" // of another key
	RejectSlow    = "handshake-timeout"
	RejectCrowd   = "too-many-connections"
	RejectGarbage = "handshake" // anything else that is no handshake of a member
)

// refuser is told of what was refused.
type refuser func(from netip.Addr, reason string, err error)

// listener accepts members, and hands their connections on by protocol.
type listener struct {
	inner  net.Listener
	tls    *tls.Config
	refuse refuser
	doors  map[string]func(net.Conn) // by ALPN protocol; they must not block

	wg sync.WaitGroup

	mu     sync.Mutex // guards what follows
	closed bool
	shake  map[netip.Addr]int
	all    int
	conns  map[net.Conn]struct{}
}

func newListener(inner net.Listener, id *Identity, refuse refuser, doors map[string]func(net.Conn)) *listener {
	var protocols []string
	for p := range doors {
		protocols = append(protocols, p)
	}
	return &listener{
		inner: inner, tls: id.server(protocols...), refuse: refuse, doors: doors,
		shake: map[netip.Addr]int{}, conns: map[net.Conn]struct{}{},
	}
}

// serve accepts until close.
func (l *listener) serve() {
	for {
		c, err := l.inner.Accept()
		switch {
		case errors.Is(err, net.ErrClosed):
			return
		case err != nil:
			time.Sleep(10 * time.Millisecond) // out of descriptors: it passes
			continue
		}
		from := addrOf(c)
		if !l.enter(from, c) {
			l.refuse(from, RejectCrowd, nil)
			_ = c.Close() // refused
			continue
		}
		l.wg.Go(func() { l.admit(from, c) })
	}
}

func (l *listener) enter(from netip.Addr, c net.Conn) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed || l.all >= maxHandshakes || l.shake[from] >= maxFromOne || len(l.conns) >= maxConns {
		return false
	}
	l.all++
	l.shake[from]++
	l.conns[c] = struct{}{}
	return true
}

func (l *listener) leave(from netip.Addr) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.all--
	if l.shake[from]--; l.shake[from] == 0 {
		delete(l.shake, from)
	}
}

func (l *listener) forget(c net.Conn) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.conns, c)
}

// admit carries out the handshake and hands the connection on.
func (l *listener) admit(from netip.Addr, c net.Conn) {
	conn := tls.Server(c, l.tls)
	ctx, cancel := context.WithTimeout(context.Background(), handshakeTime)
	err := conn.HandshakeContext(ctx)
	cancel()
	l.leave(from)
	if err != nil {
		l.refuse(from, reasonOf(err), err)
		l.forget(c)
		_ = c.Close() // refused
		return
	}
	l.doors[conn.ConnectionState().NegotiatedProtocol](&admitted{Conn: conn, l: l, raw: c})
}

// admitted is a member's connection; closing it makes room for another.
type admitted struct {
	net.Conn
	l    *listener
	raw  net.Conn
	once sync.Once
}

// Close implements net.Conn.
func (a *admitted) Close() error {
	a.once.Do(func() { a.l.forget(a.raw) })
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
	var conns []net.Conn
	for c := range l.conns {
		conns = append(conns, c)
	}
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
		return RejectPlain
	case errors.Is(err, errStranger), errors.As(err, &op) && op.Op == "remote error":
		return RejectKey // the caller does not believe us
	case errors.Is(err, context.DeadlineExceeded), errors.As(err, &timeout) && timeout.Timeout():
		return RejectSlow
	case errors.Is(err, io.EOF), errors.Is(err, net.ErrClosed):
		return RejectGarbage
	}
	return RejectGarbage
}

func addrOf(c net.Conn) netip.Addr {
	ap, err := netip.ParseAddrPort(c.RemoteAddr().String())
	if err != nil {
		return netip.Addr{}
	}
	return ap.Addr().Unmap().WithZone("")
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
