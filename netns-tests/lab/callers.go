package lab

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/keepvip/keepvip/netns-tests/try"
)

// CallersConfig says what callers do. They run until they are stopped.
type CallersConfig struct {
	Network string // "tcp" or "unix"
	Address string
	User    int    // who they are
	Busy    int    // callers that connect, say something and read the answer, again and again
	Say     string // what the busy ones say
	Idle    int    // callers that connect and say nothing, and connect again when the other side ends that
	// Take are TCP addresses at which they listen, and never answer.
	Take []string
	// Equal callers want the processor as much as the program that they call, which has to be real-time then. Others have what
	// is left: on a node, the program has a control group of its own and its share of the processor; here it would be one thread
	// among hundreds, on processors that serve all nodes, and what is measured would be the machine.
	Equal bool
	Hops  int // of their packets, by IPv4; 0: as usual
	// Scattered callers are at addresses of 127.0.0.0/8 that are drawn for each connection.
	Scattered bool
}

const (
	// callPause keeps a caller that is refused from doing nothing else.
	callPause = time.Millisecond
	// callTime bounds one call.
	callTime = time.Second
)

// Callers are a process that connects again and again.
type Callers struct{ *helperProcess }

// StartCallers begins calls from a namespace. They listen already when it returns.
func (n *Namespace) StartCallers(c CallersConfig) (*Callers, error) {
	policy := unix.SCHED_IDLE
	if c.Equal {
		policy = unix.SCHED_NORMAL
	}
	p, err := n.startHelper(roleCallers, c, policy)
	return &Callers{p}, err
}

// Stop ends all calls and returns how many connections there were.
func (k *Callers) Stop() int {
	k.end()
	made, _ := strconv.Atoi(strings.TrimSpace(k.out.String()))
	return made
}

// runCallers is the helper process: it calls until its standard input ends, and writes how many connections there were.
func runCallers(c CallersConfig) (err error) {
	defer try.Catch(&err)
	try.Do(syscall.Setresuid(c.User, c.User, c.User))
	for _, a := range c.Take {
		defer try.Get(net.Listen("tcp", a)).Close()
	}
	tellReady()
	ctx, cancel := context.WithCancel(context.Background())
	var made atomic.Int64
	var wait sync.WaitGroup
	for i := range c.Busy + c.Idle {
		wait.Go(func() { c.call(ctx, i < c.Busy, &made) })
	}
	_, _ = io.Copy(io.Discard, os.Stdin)
	cancel()
	wait.Wait()
	return try.Err(fmt.Println(made.Load()))
}

func (c CallersConfig) call(ctx context.Context, busy bool, made *atomic.Int64) {
	dialer := net.Dialer{Timeout: callTime}
	if c.Hops > 0 {
		dialer.Control = func(_, _ string, raw syscall.RawConn) error {
			var set error
			err := raw.Control(func(fd uintptr) { set = unix.SetsockoptInt(int(fd), unix.IPPROTO_IP, unix.IP_TTL, c.Hops) })
			return errors.Join(err, set)
		}
	}
	for ctx.Err() == nil {
		if c.Scattered {
			dialer.LocalAddr = &net.TCPAddr{IP: net.IPv4(127, byte(rand.N(256)), byte(rand.N(256)), byte(1+rand.N(254)))}
		}
		conn, err := dialer.DialContext(ctx, c.Network, c.Address)
		if errors.Is(err, syscall.ECONNRESET) {
			made.Add(1) // and refused at once
		}
		if err != nil {
			time.Sleep(callPause)
			continue
		}
		made.Add(1)
		end := context.AfterFunc(ctx, func() { _ = conn.Close() })
		if busy {
			_ = conn.SetDeadline(time.Now().Add(callTime))
			_, _ = io.WriteString(conn, c.Say) // who is refused reads that next
		}
		_, _ = io.Copy(io.Discard, conn)
		end()
		_ = conn.Close()
	}
}
