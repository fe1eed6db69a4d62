package lab

import (
	"context"
	"net"
	"runtime"
	"sync"
	"sync/atomic"
	"time"
)

// CallersConfig says what callers do, each on a thread of its own.
type CallersConfig struct {
	Network string // "tcp" or "unix"
	Address string
	Callers int
	Say     string // at the begin of each connection; "" says nothing
	// Keep holds each connection until the other side ends it, or the calls are over; without it a connection ends with the answer.
	Keep bool
	Each int // connections that a caller has at a time, with Keep; 0 = 1
}

// Callers connect again and again, until they are stopped.
type Callers struct {
	made   atomic.Int64
	cancel context.CancelFunc
	wait   sync.WaitGroup
}

// StartCallers begins calls from a namespace. The callers run as ordinary programs do.
func (n *Namespace) StartCallers(c CallersConfig) *Callers {
	ctx, cancel := context.WithCancel(context.Background())
	k := &Callers{cancel: cancel}
	for range c.Callers {
		k.wait.Go(func() { k.run(ctx, n, c) })
	}
	return k
}

// callPause keeps a caller that is refused from doing nothing else.
const callPause = time.Millisecond

// run connects on a thread inside the namespace: where a socket is opened is where it belongs.
func (k *Callers) run(ctx context.Context, n *Namespace, c CallersConfig) {
	runtime.LockOSThread() // never unlocked: the thread is in another namespace
	if n.enter() != nil {
		return
	}
	var kept sync.WaitGroup
	defer kept.Wait()
	places := make(chan struct{}, max(c.Each, 1))
	dialer := net.Dialer{Timeout: time.Second}
	for ctx.Err() == nil {
		select {
		case places <- struct{}{}:
		case <-ctx.Done():
			return
		}
		conn, err := dialer.DialContext(ctx, c.Network, c.Address)
		if err != nil {
			<-places
			time.Sleep(callPause)
			continue
		}
		k.made.Add(1)
		if c.Keep {
			kept.Go(func() { k.talk(ctx, conn, c); <-places })
			continue
		}
		k.talk(ctx, conn, c)
		<-places
	}
}

// talk says what is to be said and reads until the other side ends the connection, or for a second.
func (k *Callers) talk(ctx context.Context, conn net.Conn, c CallersConfig) {
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { _ = conn.Close() })()
	if !c.Keep {
		_ = conn.SetDeadline(time.Now().Add(time.Second))
	}
	if _, err := conn.Write([]byte(c.Say)); err != nil {
		return
	}
	buf := make([]byte, 16<<10)
	for {
		if _, err := conn.Read(buf); err != nil {
			return
		}
	}
}

// Stop ends all calls and returns how many connections there were.
func (k *Callers) Stop() int {
	k.cancel()
	k.wait.Wait()
	return int(k.made.Load())
}
