package control

import (
	"context"
	"errors"
	"net"
	"sync"
)

// localQueues is how many sockets listen at one address of the loopback interface. The kernel lets some four thousand connections wait at one
// socket (net.core.somaxconn), and drops what comes after them: a local user who keeps that many waiting would leave it to chance whether
// the kubelet gets in. With four sockets 16 thousand can wait, and the kernel chooses one of them by the caller's port.
const localQueues = 4

// queues is one listener of several sockets at one address: each has connections waiting of its own, and they are accepted in turns.
type queues struct {
	lns      []net.Listener
	accepted chan accepted
	closed   chan struct{}
	close    sync.Once
	wait     sync.WaitGroup
}

type accepted struct {
	conn net.Conn
	err  error
}

// listenQueues opens n sockets at one address of the loopback interface, with a ListenConfig that has them share it.
func listenQueues(lc net.ListenConfig, network, at string, n int) (net.Listener, error) {
	q := &queues{accepted: make(chan accepted), closed: make(chan struct{})}
	for range n {
		ln, err := lc.Listen(context.Background(), network, at)
		if err != nil {
			closeAll(q.lns)
			return nil, err
		}
		q.lns = append(q.lns, ln)
		at = ln.Addr().String() // the kernel may have chosen the port
	}
	for _, ln := range q.lns {
		q.wait.Go(func() { q.take(ln) })
	}
	return q, nil
}

// take accepts what waits at one socket, one at a time: what nobody asks for goes on waiting in the kernel.
func (q *queues) take(ln net.Listener) {
	for {
		c, err := ln.Accept()
		select {
		case q.accepted <- accepted{c, err}:
		case <-q.closed:
			if err == nil {
				_ = c.Close()
			}
			return
		}
		if errors.Is(err, net.ErrClosed) {
			return
		}
	}
}

// Accept implements net.Listener.
func (q *queues) Accept() (net.Conn, error) {
	select {
	case a := <-q.accepted:
		return a.conn, a.err
	case <-q.closed:
		return nil, net.ErrClosed
	}
}

// Close implements net.Listener. It waits for the goroutines of the sockets.
func (q *queues) Close() error {
	var errs []error
	q.close.Do(func() {
		close(q.closed)
		for _, ln := range q.lns {
			errs = append(errs, ln.Close())
		}
	})
	q.wait.Wait()
	return errors.Join(errs...)
}

// Addr implements net.Listener.
func (q *queues) Addr() net.Addr { return q.lns[0].Addr() }
