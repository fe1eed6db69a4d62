package singleton

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// name is that of the abstract socket; Go writes the leading zero byte as "@".
const name = "@keepvip"

// RunningError says that another keepvip runs in this network namespace.
type RunningError struct {
	PID    int    // 0: not known, as for a process of another PID namespace
	Socket string // its control socket, as its own file system has it; "": not known
}

// Error implements error.
func (e *RunningError) Error() string {
	who := "its process is not visible from here"
	if e.PID != 0 {
		who = fmt.Sprintf("process %d", e.PID)
	}
	if e.Socket != "" {
		who += ", control socket " + e.Socket
	}
	return fmt.Sprintf("another keepvip runs in this network namespace (%s): stop it first; two would take each other's addresses away", who)
}

// Lock is the right to run here. It ends with Close, or with the process.
type Lock struct {
	// Doubt says which half of the lock somebody else has, and who, in words for a log; "": nobody has.
	Doubt string

	ln     *net.UnixListener // nil: the name is somebody else's
	packet int               // -1: the group is somebody else's, or packet sockets are not to be had
	socket string
}

// Take takes the lock, without waiting. socket is the path of the control socket, which others are told. The error is a
// *RunningError when another keepvip has the lock.
func Take(socket string) (*Lock, error) {
	l := &Lock{socket: socket}
	var joined error
	if l.packet, joined = takeGroup(); joined != nil && !errors.Is(joined, errGroupTaken) {
		joined = nil // not to be had: the name has to do
	}
	for try := 0; ; try++ {
		ln, err := net.ListenUnix("unix", &net.UnixAddr{Name: name, Net: "unix"})
		if err == nil {
			l.ln = ln
			if joined != nil {
				l.Doubt = fmt.Sprintf("packet fanout group %d is another program's", group)
			}
			return l, nil
		}
		if !errors.Is(err, unix.EADDRINUSE) {
			return nil, errors.Join(fmt.Errorf("singleton: %w", err), l.Close())
		}
		o, err := ask()
		switch {
		case err == nil && o.privileged(), joined != nil:
			return nil, errors.Join(&RunningError{PID: o.pid, Socket: o.socket}, l.Close())
		case err == nil:
			l.Doubt = fmt.Sprintf("the abstract socket %s is held by user %d (process %d), who is no keepvip", name, o.uid, o.pid)
			return l, nil
		case try == askTries: // bound but not served for so long: no keepvip does that
			l.Doubt = fmt.Sprintf("the abstract socket %s is held by somebody who does not answer (%v)", name, err)
			return l, nil
		}
		time.Sleep(askGap)
	}
}

const (
	askTries = 10
	askGap   = 10 * time.Millisecond
	askTime  = 300 * time.Millisecond
	// lookGap is the time between two attempts while an earlier process ends.
	lookGap = 50 * time.Millisecond
)

// Wait is Take that gives an earlier keepvip so long to end; waiting is called once when there is one.
func Wait(ctx context.Context, socket string, limit time.Duration, waiting func(*RunningError)) (*Lock, error) {
	end := time.Now().Add(limit)
	for {
		l, err := Take(socket)
		var running *RunningError
		if !errors.As(err, &running) || time.Now().After(end) {
			return l, err
		}
		if waiting != nil {
			waiting(running)
			waiting = nil
		}
		select {
		case <-ctx.Done():
			return nil, err
		case <-time.After(lookGap):
		}
	}
}

// owner is who holds the name.
type owner struct {
	pid    int
	uid    uint32
	socket string
}

// privileged tells that it can be a keepvip.
func (o owner) privileged() bool { return o.uid == 0 || int(o.uid) == os.Geteuid() }

// ask asks the holder of the name; what the kernel attests comes first, and what it says itself need not come.
func ask() (owner, error) {
	c, err := net.DialTimeout("unix", name, askTime)
	if err != nil {
		return owner{}, err
	}
	defer c.Close()
	raw, err := c.(*net.UnixConn).SyscallConn()
	if err != nil {
		return owner{}, err
	}
	var cred *unix.Ucred
	var credErr error
	if err := raw.Control(func(fd uintptr) {
		cred, credErr = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED)
	}); err != nil || credErr != nil {
		return owner{}, errors.Join(err, credErr)
	}
	o := owner{pid: int(cred.Pid), uid: cred.Uid}
	if o.privileged() { // nobody else is believed
		_ = c.SetReadDeadline(time.Now().Add(askTime))
		path := make([]byte, unix.PathMax)
		n, _ := c.Read(path)
		o.socket = string(path[:n])
	}
	return o, nil
}

// Serve tells those who ask the path of the control socket, until ctx ends. Only one is served at a time, and not many a second:
// every local user may ask.
func (l *Lock) Serve(ctx context.Context) error {
	if l.ln == nil {
		return nil
	}
	defer context.AfterFunc(ctx, func() { _ = l.ln.SetDeadline(time.Unix(1, 0)) })()
	for ctx.Err() == nil {
		c, err := l.ln.Accept()
		if err == nil {
			_ = c.SetWriteDeadline(time.Now().Add(askTime))
			_, _ = c.Write([]byte(l.socket))
			_ = c.Close()
		}
		select {
		case <-ctx.Done():
		case <-time.After(askGap):
		}
	}
	return nil
}

// Close gives the lock back.
func (l *Lock) Close() error {
	var errs []error
	if l.ln != nil {
		errs = append(errs, l.ln.Close())
	}
	if l.packet >= 0 {
		errs = append(errs, unix.Close(l.packet))
	}
	return errors.Join(errs...)
}
