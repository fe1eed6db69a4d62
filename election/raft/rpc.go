package raft

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"sync"
	"time"

	"github.com/keepvip/keepvip/internal/base/places"
)

// protocolMember is the ALPN protocol of the questions; that of raft has its timing in the name, see protocolRaft.
const protocolMember = "keepvip-member/1"

// protocolRaft is the ALPN protocol of raft itself. A leader's lease rests on the heartbeat timeout of the others: nodes with
// different ones must not acknowledge each other.
func protocolRaft(heartbeat time.Duration) string { return "keepvip-raft/1 " + heartbeat.String() }

// idleTime is how long a connection may be silent.
const idleTime = 30 * time.Second

// rpcClient asks members, over one connection to each. Safe for concurrent use.
type rpcClient struct {
	dial func(ctx context.Context, to netip.Addr) (net.Conn, error)

	mu    sync.Mutex // guards lines
	lines map[netip.Addr]*line
}

type line struct {
	mu   sync.Mutex // held for a question at a time; guards conn
	conn net.Conn
}

func newRPCClient(dial func(context.Context, netip.Addr) (net.Conn, error)) *rpcClient {
	return &rpcClient{dial: dial, lines: map[netip.Addr]*line{}}
}

func (c *rpcClient) line(to netip.Addr) *line {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.lines[to] == nil {
		c.lines[to] = &line{}
	}
	return c.lines[to]
}

// ask returns the answer of a member. An answer that says Error is an error.
func (c *rpcClient) ask(ctx context.Context, to netip.Addr, m message) (message, error) {
	l := c.line(to)
	l.mu.Lock()
	defer l.mu.Unlock()
	reused := l.conn != nil
	res, err := c.try(ctx, l, to, m)
	if err != nil && reused && ctx.Err() == nil {
		res, err = c.try(ctx, l, to, m) // it may have hung up since
	}
	switch {
	case err != nil:
		return message{}, fmt.Errorf("ask %s: %w", to, err)
	case res.From != to:
		return message{}, fmt.Errorf("ask %s: answered by %s", to, res.From)
	case res.Error != "":
		return res, errors.New(res.Error)
	}
	return res, nil
}

// try asks once. The caller holds the line's lock.
func (c *rpcClient) try(ctx context.Context, l *line, to netip.Addr, m message) (res message, err error) {
	if l.conn == nil {
		if l.conn, err = c.dial(ctx, to); err != nil {
			l.conn = nil
			return message{}, err
		}
	}
	defer func() {
		if err != nil {
			_ = l.conn.Close() // of no use any more
			l.conn = nil
		}
	}()
	deadline, ok := ctx.Deadline()
	if !ok {
		deadline = time.Now().Add(handshakeTime)
	}
	if err := l.conn.SetDeadline(deadline); err != nil {
		return message{}, err
	}
	if err := writeMessage(l.conn, m); err != nil {
		return message{}, err
	}
	return readMessage(l.conn)
}

// hangUp closes every connection: the next question opens one with the newest identity.
func (c *rpcClient) hangUp() {
	c.mu.Lock()
	lines := c.lines
	c.lines = map[netip.Addr]*line{}
	c.mu.Unlock()
	for _, l := range lines {
		l.mu.Lock()
		if l.conn != nil {
			_ = l.conn.Close() // nothing waits for it
			l.conn = nil
		}
		l.mu.Unlock()
	}
}

// rpcServer answers on accepted connections.
type rpcServer struct {
	answer func(message) message
	refuse refuser
	wg     sync.WaitGroup
}

// take answers what comes over a connection until it ends.
func (s *rpcServer) take(c net.Conn) {
	s.wg.Go(func() {
		defer c.Close()
		for s.one(c) == nil {
		}
	})
}

func (s *rpcServer) one(c net.Conn) error {
	if err := c.SetDeadline(time.Now().Add(idleTime)); err != nil {
		return err
	}
	m, err := readMessage(c)
	var ne net.Error
	switch {
	case err == nil && m.From != places.AddressOf(c):
		err = fmt.Errorf("raft: message from %s, but its sender is %s", m.From, places.AddressOf(c))
		fallthrough
	case err != nil && !errors.As(err, &ne) && !isEnd(err):
		s.refuse(places.AddressOf(c), rejectGarbage, err)
		return err
	case err != nil:
		return err
	}
	return writeMessage(c, s.answer(m))
}
