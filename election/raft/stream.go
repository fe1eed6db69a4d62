package raft

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"time"

	"github.com/hashicorp/raft"
)

// stream is raft's part of the listener: connections in, connections out.
type stream struct {
	dialer   dialer
	protocol string
	incoming chan net.Conn
	closed   chan struct{}
}

var _ raft.StreamLayer = (*stream)(nil)

func newStream(d dialer, heartbeat time.Duration) *stream {
	return &stream{dialer: d, protocol: protocolRaft(heartbeat), incoming: make(chan net.Conn, maxOpen), closed: make(chan struct{})}
}

// take is the listener's door to it.
func (s *stream) take(c net.Conn) {
	select {
	case <-s.closed:
		_ = c.Close() // too late
	case s.incoming <- c:
	}
}

// Accept implements net.Listener.
func (s *stream) Accept() (net.Conn, error) {
	select {
	case c := <-s.incoming:
		return c, nil
	case <-s.closed:
		return nil, net.ErrClosed
	}
}

// Close implements net.Listener. The listener closes what has been accepted.
func (s *stream) Close() error {
	close(s.closed)
	return nil
}

// Addr implements net.Listener.
func (s *stream) Addr() net.Addr {
	return net.TCPAddrFromAddrPort(netip.AddrPortFrom(s.dialer.self, s.dialer.port))
}

// Dial implements raft.StreamLayer.
func (s *stream) Dial(address raft.ServerAddress, timeout time.Duration) (net.Conn, error) {
	to, err := netip.ParseAddr(string(address))
	if err != nil {
		return nil, fmt.Errorf("raft: address of a member: %w", err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	return s.dialer.dial(ctx, to, s.protocol)
}
