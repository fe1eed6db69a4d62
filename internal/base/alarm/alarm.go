//go:build linux

// Package alarm wakes one goroutine at a time that it is told, and costs as little as that can. A timer of Go's runtime is waited for in whole milliseconds,
// so that the process wakes up twice; it wakes the runtime's monitor thread, too, and a second thread to look for work. A daemon that wakes up a few dozen
// times a second spends most of its processor time on that. An Alarm is a timer of the kernel's (timerfd_create(2)), whose end wakes the goroutine alone.
//
// The package has one goroutine for each Hand.
package alarm

import (
	"fmt"
	"os"
	"sync"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Alarm is for one goroutine that waits. Set and Close may be called from any.
type Alarm interface {
	// Set has Wait return then, in place of what was set before; at once where that is past.
	Set(at time.Time)
	// Wait returns true when the time has come, once for each Set, and false when the Alarm is closed.
	Wait() bool
	Close() error
}

// Plain is a timer of Go's runtime: for virtual time, and where the kernel has no descriptor left.
func Plain() Alarm {
	p := &plain{timer: time.NewTimer(time.Hour), closed: make(chan struct{})}
	p.timer.Stop()
	return p
}

// Open opens one of the kernel's.
func Open() (Alarm, error) {
	fd, err := unix.TimerfdCreate(unix.CLOCK_MONOTONIC, unix.TFD_NONBLOCK|unix.TFD_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("alarm: timerfd_create: %w", err)
	}
	file := os.NewFile(uintptr(fd), "alarm")
	conn, err := file.SyscallConn()
	if err != nil {
		return nil, fmt.Errorf("alarm: %w", err)
	}
	return &kernels{file: file, conn: conn}, nil
}

type kernels struct {
	file *os.File
	conn syscall.RawConn

	mu sync.Mutex // guards at
	at time.Time  // zero: it is not set
}

// Set implements Alarm.
func (k *kernels) Set(at time.Time) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.at = at
	// Zero would disarm it.
	spec := unix.ItimerSpec{Value: unix.NsecToTimespec(max(1, time.Until(at).Nanoseconds()))}
	// An error says that it is closed: nobody waits. The call never waits, so the scheduler need not know.
	_ = k.conn.Control(func(fd uintptr) {
		_, _, _ = unix.RawSyscall6(unix.SYS_TIMERFD_SETTIME, fd, 0, uintptr(unsafe.Pointer(&spec)), 0, 0, 0)
	})
}

// Wait implements Alarm. Each end of the timer is an event for the runtime's poller, also when nobody has read of the one before.
func (k *kernels) Wait() bool { return k.conn.Read(func(uintptr) bool { return k.come() }) == nil }

func (k *kernels) come() bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.at.IsZero() || time.Now().Before(k.at) {
		return false
	}
	k.at = time.Time{}
	return true
}

// Close implements Alarm.
func (k *kernels) Close() error { return k.file.Close() }

type plain struct {
	timer  *time.Timer
	once   sync.Once
	closed chan struct{}
}

// Set implements Alarm.
func (p *plain) Set(at time.Time) {
	select {
	case <-p.closed:
	default:
		p.timer.Reset(time.Until(at))
	}
}

// Wait implements Alarm.
func (p *plain) Wait() bool {
	select {
	case <-p.closed:
		return false
	case <-p.timer.C:
		return true
	}
}

// Close implements Alarm.
func (p *plain) Close() error {
	p.once.Do(func() { p.timer.Stop(); close(p.closed) })
	return nil
}

// Hand waits in place of a loop that waits for other things, too: it gets the moment in which the time has come. One that was handed over already may
// arrive after Set has said something else. The function closes the Alarm, and returns when nobody waits any more.
func Hand(a Alarm) (<-chan time.Time, func()) {
	if p, ok := a.(*plain); ok {
		return p.timer.C, func() { _ = p.Close() }
	}
	handed, end, done := make(chan time.Time), make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		for a.Wait() {
			select {
			case handed <- time.Now():
			case <-end:
				return
			}
		}
	}()
	return handed, func() { close(end); _ = a.Close(); <-done }
}
