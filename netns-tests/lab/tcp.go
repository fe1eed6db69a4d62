package lab

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/netip"
	"strings"
	"sync"
	"time"

	"github.com/keepvip/keepvip/netns-tests/try"
)

// tcpPort is where the ticker of each node listens.
const tcpPort = 7008

// Server is a TCP server of one node. Like the echo it is no part of the program under test.
type Server struct {
	listeners []net.Listener
	cancel    context.CancelFunc
	wait      sync.WaitGroup
}

// serve has a node handle the connections to some addresses. Each has a goroutine of its own, and ends with it.
func (n *Node) serve(handle func(ctx context.Context, c net.Conn) error, at ...string) (*Server, error) {
	ctx, cancel := context.WithCancel(context.Background())
	s := &Server{cancel: cancel}
	for _, a := range at {
		l, err := n.Listen(a)
		if err != nil {
			s.Close()
			return nil, err
		}
		s.listeners = append(s.listeners, l)
		s.wait.Go(func() { s.accept(ctx, l, handle) })
	}
	return s, nil
}

func (s *Server) accept(ctx context.Context, l net.Listener, handle func(context.Context, net.Conn) error) {
	for {
		c, err := l.Accept()
		if err != nil {
			return
		}
		s.wait.Go(func() {
			defer c.Close()
			defer context.AfterFunc(ctx, func() { _ = c.Close() })()
			_ = handle(ctx, c) // the client sees that it is over
		})
	}
}

// Close ends the server and every connection.
func (s *Server) Close() {
	s.cancel()
	for _, l := range s.listeners {
		_ = l.Close()
	}
	s.wait.Wait()
}

// StartTicker has the node send a line on every connection each few milliseconds, at any of its addresses. So data is always on the way.
func (n *Node) StartTicker() (_ *Server, err error) {
	defer try.Say(&err, "lab: ticker on %s", n.Label)
	return n.serve(n.tick, fmt.Sprintf(":%d", tcpPort))
}

// tick writes until the connection ends. What the peer says is read, so that
// only a fault keeps data from leaving.
func (n *Node) tick(_ context.Context, c net.Conn) (err error) {
	defer try.Catch(&err)
	go func() { _, _ = io.Copy(io.Discard, c) }()
	for {
		try.Get(fmt.Fprintf(c, "%s ticks\n", n.Label))
		time.Sleep(5 * time.Millisecond)
	}
}

// Session is what a client with one long-lived connection went through.
type Session struct {
	Broken    time.Duration // when the client was told that its connection is gone; 0 if it was not
	How       string        // the error
	Connected time.Duration // when the next connection carried data; 0 if none did
}

// Follow holds a connection from the client to the address, talks on it, and
// connects again when it breaks. Stop waits so long at most for the next connection,
// and ends it all.
func (l *Lab) Follow(from *Namespace, addr netip.Addr) (stop func(wait time.Duration) Session, err error) {
	defer try.Say(&err, "lab: connect to %s", addr)
	c := try.Get(l.dial(from, addr, 2*time.Second))
	ctx, cancel := context.WithCancel(context.Background())
	var s Session
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer context.AfterFunc(ctx, func() { _ = c.Close() })()
		err := talk(c)
		if ctx.Err() != nil {
			return
		}
		s.Broken, s.How = l.Now(), err.Error()
		s.Connected = l.again(ctx, from, addr)
	}()
	return func(wait time.Duration) Session {
		select {
		case <-done:
		case <-time.After(wait):
		}
		cancel()
		<-done
		return s
	}, nil
}

// talk reads, and says something now and then as a keep-alive does, until the
// connection breaks.
func talk(c net.Conn) (err error) {
	defer try.Catch(&err)
	buf := make([]byte, 4<<10)
	for {
		_ = c.SetReadDeadline(time.Now().Add(50 * time.Millisecond))
		_, err := c.Read(buf)
		if err == nil {
			continue
		}
		if t, ok := err.(net.Error); !ok || !t.Timeout() {
			return err
		}
		try.Get(c.Write([]byte("are you there?\n")))
	}
}

// again connects until data arrives.
func (l *Lab) again(ctx context.Context, from *Namespace, addr netip.Addr) time.Duration {
	for ctx.Err() == nil {
		c, err := l.dial(from, addr, 200*time.Millisecond)
		if err != nil {
			time.Sleep(10 * time.Millisecond)
			continue
		}
		_ = c.SetReadDeadline(time.Now().Add(time.Second))
		_, err = c.Read(make([]byte, 1))
		_ = c.Close()
		if err == nil {
			return l.Now()
		}
	}
	return 0
}

// dial connects from inside a namespace.
func (l *Lab) dial(from *Namespace, addr netip.Addr, limit time.Duration) (net.Conn, error) {
	return from.Dial(netip.AddrPortFrom(addr, tcpPort), limit)
}

// Greet connects from the client to the address, and returns the label of the node whose ticker answers.
func (l *Lab) Greet(from *Namespace, addr netip.Addr) (_ string, err error) {
	defer try.Catch(&err)
	c := try.Get(l.dial(from, addr, 2*time.Second))
	defer c.Close()
	_ = c.SetReadDeadline(time.Now().Add(2 * time.Second))
	line, err := bufio.NewReader(c).ReadString('\n')
	label, _, _ := strings.Cut(line, " ")
	return label, err
}
