//go:build linux

package alarm

import (
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// timerfd is a source of the kernel.
type timerfd struct {
	file  *os.File
	raw   syscall.RawConn
	ended chan struct{}
}

// Open makes a Clock of the kernel. The caller closes it after all that uses it.
func Open() (*Clock, error) {
	fd, err := unix.TimerfdCreate(unix.CLOCK_MONOTONIC, unix.TFD_NONBLOCK|unix.TFD_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("alarm: %w", err)
	}
	s := &timerfd{file: os.NewFile(uintptr(fd), "timerfd"), ended: make(chan struct{})}
	if s.raw, err = s.file.SyscallConn(); err != nil {
		return nil, errors.Join(fmt.Errorf("alarm: %w", err), s.file.Close())
	}
	c := &Clock{source: s}
	go s.run(c.fire)
	return c, nil
}

// run calls fire at each end, until the descriptor is closed.
func (s *timerfd) run(fire func()) {
	defer close(s.ended)
	expirations := make([]byte, 8)
	for {
		switch _, err := s.file.Read(expirations); {
		case err == nil:
			fire()
		case errors.Is(err, os.ErrClosed):
			return
		}
	}
}

func (s *timerfd) set(after time.Duration) { s.settime(unix.NsecToTimespec(int64(after))) }

func (s *timerfd) stop() { s.settime(unix.Timespec{}) }

// settime fails only for a descriptor that is closed: a time of zero stops.
func (s *timerfd) settime(value unix.Timespec) {
	_ = s.raw.Control(func(fd uintptr) {
		_ = unix.TimerfdSettime(int(fd), 0, &unix.ItimerSpec{Value: value}, nil)
	})
}

func (s *timerfd) close() error {
	err := s.file.Close()
	<-s.ended
	return err
}
