package lab

import (
	"errors"

	"golang.org/x/sys/unix"

	"github.com/keepvip/keepvip/netns-tests/try"
)

// Hang has whoever opens a file wait in the kernel, as for a file system whose server is gone.
type Hang struct{ fd int }

// HangOpens begins with a file that is there. It works by permission events of fanotify(7), which nobody answers.
func HangOpens(path string) (_ *Hang, err error) {
	defer try.Say(&err, "lab: have opens of %s hang", path)
	h := &Hang{try.Get(unix.FanotifyInit(unix.FAN_CLASS_CONTENT|unix.FAN_CLOEXEC|unix.FAN_NONBLOCK, unix.O_RDONLY|unix.O_LARGEFILE|unix.O_CLOEXEC))}
	if err := unix.FanotifyMark(h.fd, unix.FAN_MARK_ADD, unix.FAN_OPEN_PERM, unix.AT_FDCWD, path); err != nil {
		return nil, errors.Join(err, h.End())
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
func (h *Hang) End() error { return unix.Close(h.fd) }
