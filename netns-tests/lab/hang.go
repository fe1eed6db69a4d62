package lab

import (
	"errors"
	"fmt"

	"golang.org/x/sys/unix"
)

// Hang has whoever opens a file wait in the kernel, as for a file system whose server is gone.
type Hang struct{ fd int }

// HangOpens begins with a file that is there. It works by permission events of fanotify(7), which nobody answers.
func HangOpens(path string) (*Hang, error) {
	fd, err := unix.FanotifyInit(unix.FAN_CLASS_CONTENT|unix.FAN_CLOEXEC|unix.FAN_NONBLOCK, unix.O_RDONLY|unix.O_LARGEFILE|unix.O_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("lab: fanotify_init: %w", err)
	}
	h := &Hang{fd}
	if err := unix.FanotifyMark(fd, unix.FAN_MARK_ADD, unix.FAN_OPEN_PERM, unix.AT_FDCWD, path); err != nil {
		return nil, errors.Join(fmt.Errorf("lab: fanotify_mark %s: %w", path, err), h.End())
	}
	return h, nil
}

// Waits tells whether somebody has begun to wait since it was asked last.
func (h *Hang) Waits() bool {
	event := make([]byte, 4096)
	n, err := unix.Read(h.fd, event)
	return err == nil && n > 0 // the descriptor in it is closed with this process: there are few
}

// End lets everybody go on.
func (h *Hang) End() error {
	if err := unix.Close(h.fd); err != nil {
		return fmt.Errorf("lab: end of a hang: %w", err)
	}
	return nil
}
