package lab

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"os"
	"os/exec"
	"time"

	"golang.org/x/sys/unix"

	"github.com/keepvip/keepvip/netns-tests/try"
)

// perIdleProcess is how many connections one process has: descriptors are limited.
const perIdleProcess = 15000

// No step of these processes lasts for ever: one connection has so long, all of a process, and its end.
const idleConnect, idleReady, idleEnd = 20 * time.Second, 3 * time.Minute, 30 * time.Second

// idleEnv has the configuration of the helper process.
const idleEnv = "KEEPVIP_LAB_IDLE"

// idleConfig is what a helper process does until its standard input ends.
type idleConfig struct {
	Listen netip.AddrPort // takes connections there, and never answers
	Target netip.AddrPort // or connects to there
	Count  int
	Every  time.Duration // each of Count says something so often; 0: never
}

// IdleConns are connections on which nobody says anything, as those of watches without events. Clients and servers are processes of their own.
type IdleConns struct {
	lab   *Lab
	procs []*idleProcess
	Count int
}

type idleProcess struct {
	cmd *exec.Cmd
	in  io.Closer
	out *bytes.Buffer
}

// IdleEnd is how one connection ended.
type IdleEnd struct {
	At    time.Duration // on the clock of every report; 0: it is open
	Reset bool          // otherwise it was closed in order
}

// IdleReport is what became of all connections.
type IdleReport []IdleEnd

// Told are those whose clients know of the end.
func (r IdleReport) Told() int { return len(where(r, func(e IdleEnd) bool { return e.At > 0 })) }

// Last is when the last client was told.
func (r IdleReport) Last() time.Duration {
	return longest(r, func(e IdleEnd) time.Duration { return e.At })
}

// IdleServers are the servers of one node.
type IdleServers struct{ procs []*idleProcess }

// StartIdleServers takes connections on every address of the node, also those that it gets later. They end with the lab.
func (n *Node) StartIdleServers(port uint16, connections int) (_ *IdleServers, err error) {
	defer try.Catch(&err)
	s := &IdleServers{}
	for i := 0; i < connections; i += perIdleProcess {
		p := try.Get(n.startIdle(idleConfig{Listen: netip.AddrPortFrom(netip.IPv6Unspecified(), port)}))
		n.lab.atEnd(p.end)
		s.procs = append(s.procs, p)
	}
	return s, nil
}

// Stop ends them.
func (s *IdleServers) Stop() {
	for _, p := range s.procs {
		p.end()
	}
}

// Kill9 kills the processes: the kernel ends their connections.
func (s *IdleServers) Kill9() error {
	var errs []error
	for _, p := range s.procs {
		errs = append(errs, p.cmd.Process.Kill())
	}
	return errors.Join(errs...)
}

// HoldIdle opens connections, and returns when all are open. On each the client says something so often; 0: never.
func (l *Lab) HoldIdle(from *Namespace, target netip.AddrPort, count int, every time.Duration) (_ *IdleConns, err error) {
	defer try.Catch(&err)
	idle := &IdleConns{lab: l, Count: count}
	// Ports of connections that a moment ago were ended may be in use still: there are more than twice as many as are wanted.
	try.Get(from.Run("sysctl", "-qw", "net.ipv4.ip_local_port_range=1024 65000"))
	for left := count; left > 0; left -= perIdleProcess {
		p := try.Get(from.startIdle(idleConfig{Target: target, Count: min(left, perIdleProcess), Every: every}))
		l.atEnd(p.end)
		idle.procs = append(idle.procs, p)
	}
	return idle, nil
}

// startIdle returns when the process listens, or is connected.
func (n *Namespace) startIdle(c idleConfig) (*idleProcess, error) {
	text, err := json.Marshal(c)
	if err != nil {
		return nil, fmt.Errorf("lab: idle connections: %w", err)
	}
	p := &idleProcess{cmd: helper(roleIdle), out: &bytes.Buffer{}}
	p.cmd.Env = append(p.cmd.Env, idleEnv+"="+string(text))
	ready, write, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("lab: idle connections: %w", err)
	}
	defer func() { _ = ready.Close() }()
	p.cmd.ExtraFiles, p.cmd.Stdout, p.cmd.Stderr = []*os.File{write}, p.out, os.Stderr
	if p.in, err = p.cmd.StdinPipe(); err == nil {
		err = n.Do(p.cmd.Start)
	}
	_ = write.Close()
	if err != nil {
		return nil, fmt.Errorf("lab: start idle connections: %w", err)
	}
	_ = ready.SetReadDeadline(time.Now().Add(idleReady))
	if b, _ := io.ReadAll(ready); len(b) == 0 {
		p.end()
		return nil, fmt.Errorf("lab: idle connections: the process has said why, or was not ready within %v", idleReady)
	}
	return p, nil
}

func (p *idleProcess) end() {
	_ = p.in.Close()
	late := time.AfterFunc(idleEnd, func() { _ = p.cmd.Process.Kill() })
	defer late.Stop()
	_ = p.cmd.Wait()
}

// Stop ends what is still open, and returns what became of each.
func (i *IdleConns) Stop() (_ IdleReport, err error) {
	defer try.Say(&err, "lab: idle connections")
	var all IdleReport
	for _, p := range i.procs {
		p.end()
		var some IdleReport
		try.Do(json.Unmarshal(p.out.Bytes(), &some))
		all = append(all, some...)
	}
	offset := monotonic() - i.lab.now()
	for k := range all {
		if all[k].At > 0 {
			all[k].At -= offset
		}
	}
	return all, nil
}

// monotonic is a clock that all processes share.
func monotonic() time.Duration {
	var ts unix.Timespec
	_ = unix.ClockGettime(unix.CLOCK_MONOTONIC, &ts)
	return time.Duration(ts.Nano())
}

// runIdle is the helper process.
func runIdle(in *os.File, out io.Writer) (err error) {
	defer try.Catch(&err)
	ready := os.NewFile(3, "ready")
	var c idleConfig
	try.Do(json.Unmarshal([]byte(os.Getenv(idleEnv)), &c))
	poll := try.Get(newPoller())
	if c.Listen.IsValid() {
		return c.serve(poll, in, ready)
	}
	return c.listen(poll, in, ready, out)
}

func tellReady(ready *os.File) {
	_, _ = ready.Write([]byte{1})
	_ = ready.Close()
}

// serve takes connections until the input ends, and ends those that end.
func (c idleConfig) serve(poll *poller, in, ready *os.File) (err error) {
	defer try.Catch(&err)
	fd := try.Get(socketTCP(c.Listen))
	try.Do(errors.Join(unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_REUSEPORT, 1), unix.Bind(fd, sockaddr(c.Listen)),
		unix.Listen(fd, 4096), poll.watch(fd, false), poll.watch(int(in.Fd()), false)))
	tellReady(ready)
	for {
		for _, e := range poll.wait(time.Second) {
			switch int(e.Fd) {
			case int(in.Fd()):
				return nil
			case fd:
				for {
					conn, _, err := unix.Accept4(fd, unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC)
					if err != nil {
						break
					}
					_ = poll.watch(conn, false)
				}
			default:
				if !heard(int(e.Fd)) {
					poll.shut(int(e.Fd))
				}
			}
		}
	}
}

// heard reads what a client has said, and reports false where it has ended.
func heard(fd int) bool {
	n, err := unix.Read(fd, make([]byte, 64))
	return n > 0 || err == unix.EAGAIN || err == unix.EINTR
}

// connect goes on where a signal has interrupted it: with a timeout the kernel does not.
func connect(fd int, to unix.Sockaddr) error {
	for {
		switch err := unix.Connect(fd, to); err {
		case unix.EINTR:
		case unix.EISCONN:
			return nil
		default:
			return err
		}
	}
}

// listen connects, and notes until the input ends when each connection does.
func (c idleConfig) listen(poll *poller, in, ready *os.File, out io.Writer) (err error) {
	defer try.Catch(&err)
	ends, at := make(IdleReport, c.Count), map[int32]int{}
	speak := turns{every: c.Every}
	family := unix.AF_INET
	if c.Target.Addr().Is6() {
		family = unix.AF_INET6
	}
	for i := range ends {
		fd := try.Get(unix.Socket(family, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0))
		try.Do(unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_SNDTIMEO, &unix.Timeval{Sec: int64(idleConnect / time.Second)}))
		if err := connect(fd, sockaddr(c.Target)); err != nil {
			return fmt.Errorf("connection %d: %w", i+1, err)
		}
		try.Do(poll.watch(fd, false))
		at[int32(fd)] = i
		speak.fds = append(speak.fds, fd)
	}
	try.Do(poll.watch(int(in.Fd()), false))
	tellReady(ready)
	speak.began = time.Now()
	for {
		for _, e := range poll.wait(speak.say()) {
			if int(e.Fd) == int(in.Fd()) {
				return json.NewEncoder(out).Encode(ends)
			}
			i := at[e.Fd]
			ends[i], speak.fds[i] = IdleEnd{At: monotonic(), Reset: socketError(int(e.Fd)) != nil}, -1
			poll.shut(int(e.Fd))
		}
	}
}

// turns says something on each of its sockets in turn.
type turns struct {
	every time.Duration // 0: never
	fds   []int         // -1: ended
	began time.Time
	said  int // since then
}

// say says what is due, and returns how long nothing is.
func (t *turns) say() time.Duration {
	if t.every == 0 {
		return time.Second
	}
	gap := t.every / time.Duration(len(t.fds))
	for due := int(time.Since(t.began) / gap); t.said < due; t.said++ {
		if fd := t.fds[t.said%len(t.fds)]; fd >= 0 {
			_ = unix.Sendto(fd, []byte{0}, unix.MSG_DONTWAIT|unix.MSG_NOSIGNAL, nil) // epoll tells of what has ended
		}
	}
	return max(gap, 10*time.Millisecond)
}
