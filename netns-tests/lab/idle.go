package lab

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"github.com/keepvip/keepvip/netns-tests/try"
)

// perIdleProcess is how many connections one process has: descriptors are limited.
const perIdleProcess = 15000

// idleConnect is how long one connection may take to be open.
const idleConnect = 20 * time.Second

// idleConfig is what a helper process does until its standard input ends.
type idleConfig struct {
	Listen netip.AddrPort // takes connections there, and never answers
	Target netip.AddrPort // or connects to there
	Count  int
	Every  time.Duration // each of Count says something so often; 0: never
	Zero   time.Duration // when the clock of every report began, by the one that all processes share
}

// IdleConns are connections on which nobody says anything, as those of watches without events. Clients and servers are processes of their own.
type IdleConns struct{ procs []*helperProcess }

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
type IdleServers struct{ procs []*helperProcess }

// StartIdleServers takes connections on every address of the node, also those that it gets later. They end with the lab.
func (n *Node) StartIdleServers(port uint16, connections int) (_ *IdleServers, err error) {
	defer try.Catch(&err)
	s := &IdleServers{}
	for i := 0; i < connections; i += perIdleProcess {
		p := try.Get(n.startHelper(roleIdle, idleConfig{Listen: netip.AddrPortFrom(netip.IPv6Unspecified(), port)}, unix.SCHED_NORMAL))
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
	idle := &IdleConns{}
	// Ports of connections that a moment ago were ended may be in use still: there are more than twice as many as are wanted.
	try.Get(from.Run("sysctl", "-qw", "net.ipv4.ip_local_port_range=1024 65000"))
	for left := count; left > 0; left -= perIdleProcess {
		c := idleConfig{Target: target, Count: min(left, perIdleProcess), Every: every, Zero: monotonic() - l.Now()}
		p := try.Get(from.startHelper(roleIdle, c, unix.SCHED_NORMAL))
		l.atEnd(p.end)
		idle.procs = append(idle.procs, p)
	}
	return idle, nil
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
	return all, nil
}

// monotonic is a clock that all processes share.
func monotonic() time.Duration { return clockTime(unix.CLOCK_MONOTONIC) }

// runIdle is the helper process.
func runIdle(c idleConfig) (err error) {
	defer try.Catch(&err)
	poll := try.Get(newPoller())
	if c.Listen.IsValid() {
		return c.serve(poll)
	}
	return c.listen(poll)
}

// input is the standard input of a helper process, which ends when the process is to.
const input = 0

// serve takes connections until the input ends, and ends those that end.
func (c idleConfig) serve(poll *poller) (err error) {
	defer try.Catch(&err)
	fd := try.Get(socketTCP(c.Listen))
	try.Do(errors.Join(unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_REUSEPORT, 1), unix.Bind(fd, sockaddr(c.Listen)),
		unix.Listen(fd, 4096), poll.watch(fd), poll.watch(input)))
	tellReady()
	for {
		for _, e := range poll.wait(time.Second) {
			switch int(e.Fd) {
			case input:
				return nil
			case fd:
				for {
					conn, _, err := unix.Accept4(fd, unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC)
					if err != nil {
						break
					}
					_ = poll.watch(conn)
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
func (c idleConfig) listen(poll *poller) (err error) {
	defer try.Catch(&err)
	ends, at := make(IdleReport, c.Count), map[int32]int{}
	speak := turns{every: c.Every}
	for i := range ends {
		fd := try.Get(unix.Socket(familyOf(c.Target.Addr()), unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0))
		try.Do(unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_SNDTIMEO, &unix.Timeval{Sec: int64(idleConnect / time.Second)}))
		if err := connect(fd, sockaddr(c.Target)); err != nil {
			return fmt.Errorf("connection %d: %w", i+1, err)
		}
		try.Do(poll.watch(fd))
		at[int32(fd)] = i
		speak.fds = append(speak.fds, fd)
	}
	try.Do(poll.watch(input))
	tellReady()
	speak.began = time.Now()
	for {
		for _, e := range poll.wait(speak.say()) {
			if e.Fd == input {
				return json.NewEncoder(os.Stdout).Encode(ends)
			}
			i := at[e.Fd]
			ends[i], speak.fds[i] = IdleEnd{At: monotonic() - c.Zero, Reset: socketError(int(e.Fd)) != nil}, -1
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
