package lab

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
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
	// Scattered callers are at addresses of 127.0.0.0/8 that are drawn for each connection.
	Scattered bool
}

const (
	// callPause keeps a caller that is refused from doing nothing else.
	callPause = time.Millisecond
	// callTime bounds one call.
	callTime = time.Second
	// callEnv has the configuration of the helper process.
	callEnv = "KEEPVIP_LAB_CALLERS"
)

// Callers are a process that connects again and again.
type Callers struct {
	cmd *exec.Cmd
	in  io.Closer
	out bytes.Buffer
}

// StartCallers begins calls from a namespace, in a process of its own: the callers must not share the Go runtime of the threads that
// measure.
func (n *Namespace) StartCallers(c CallersConfig) (*Callers, error) {
	text, err := json.Marshal(c)
	if err != nil {
		return nil, fmt.Errorf("lab: callers: %w", err)
	}
	k, err := n.startCalling(roleCallers, callEnv+"="+string(text), c.Equal)
	if err == nil {
		err = n.Do(func() error { return taken(c.Take) })
	}
	if err != nil {
		return nil, fmt.Errorf("lab: callers: %w", err)
	}
	return k, nil
}

// taken waits until somebody listens at all of these addresses.
func taken(addresses []string) error {
	for _, a := range addresses {
		end := time.Now().Add(10 * time.Second)
		for {
			conn, err := net.DialTimeout("tcp", a, callTime)
			if err == nil {
				_ = conn.Close()
				break
			}
			if time.Now().After(end) {
				return fmt.Errorf("nobody listens at %s: %w", a, err)
			}
			time.Sleep(10 * callPause)
		}
	}
	return nil
}

// begin starts the process with the policy that it is to have.
func (k *Callers) begin(equal bool) (err error) {
	defer try.Catch(&err)
	if equal {
		return k.cmd.Start()
	}
	try.Do(setScheduler(0, unix.SCHED_IDLE, 0))
	return errors.Join(k.cmd.Start(), setScheduler(0, unix.SCHED_NORMAL, 0))
}

// Stop ends all calls and returns how many connections there were.
func (k *Callers) Stop() int {
	_ = k.in.Close()
	_ = k.cmd.Wait()
	made, _ := strconv.Atoi(strings.TrimSpace(k.out.String()))
	return made
}

// runCallers is the helper process: it calls until its standard input ends, and writes how many connections there were.
func runCallers(in *os.File, out io.Writer) (err error) {
	defer try.Catch(&err)
	var c CallersConfig
	try.Do(json.Unmarshal([]byte(os.Getenv(callEnv)), &c))
	try.Do(syscall.Setresuid(c.User, c.User, c.User))
	for _, a := range c.Take {
		defer try.Get(net.Listen("tcp", a)).Close()
	}
	ctx, cancel := context.WithCancel(context.Background())
	var made atomic.Int64
	var wait sync.WaitGroup
	for i := range c.Busy + c.Idle {
		wait.Go(func() { c.call(ctx, i < c.Busy, &made) })
	}
	_, _ = io.Copy(io.Discard, in)
	cancel()
	wait.Wait()
	return try.Err(fmt.Fprintln(out, made.Load()))
}

func (c CallersConfig) call(ctx context.Context, busy bool, made *atomic.Int64) {
	dialer := net.Dialer{Timeout: callTime}
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
