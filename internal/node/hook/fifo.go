package hook

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/keepvip/keepvip/internal/base/code"
	"github.com/keepvip/keepvip/internal/config"
)

// FIFOStatus is what is shown of the FIFO.
type FIFOStatus struct {
	Path    string    `json:"path"`
	Written uint64    `json:"written"`         // lines
	Dropped uint64    `json:"dropped"`         // lines that found the pipe full, because nobody reads, or none
	Error   string    `json:"error,omitempty"` // why nothing can be written
	Code    code.Code `json:"code,omitempty"`  // of Error
}

// mostWaiting is how many lines wait for the goroutine that writes them, which a file system may hold up.
const mostWaiting = 1024

// leastTry and mostTry bound the time between two tries to open it.
const leastTry, mostTry = 500 * time.Millisecond, 4 * time.Second

// fifo writes lines into a named pipe, as keepalived does: it keeps the pipe open for reading, too, so that what is written waits for a reader
// that comes later, as much as fits.
type fifo struct {
	cfg   config.FIFO
	log   *slog.Logger
	lines chan string
	ended chan struct{}
	// Of the goroutine that writes.
	made   bool        // keepvip made the pipe, now or in a run that was killed
	opened unix.Stat_t // the pipe

	mu   sync.Mutex // guards what follows
	seen FIFOStatus
	full bool // the newest line was dropped
}

func openFIFO(cfg config.FIFO, log *slog.Logger) *fifo {
	f := &fifo{
		cfg: cfg, log: log, lines: make(chan string, mostWaiting), ended: make(chan struct{}), seen: FIFOStatus{Path: cfg.Path},
	}
	go f.work()
	return f
}

// put never blocks.
func (f *fifo) put(line string) {
	select {
	case f.lines <- line:
	default:
		f.note(unix.EAGAIN)
	}
}

// work writes lines until there are no more, and then removes a pipe that keepvip made.
func (f *fifo) work() {
	defer close(f.ended)
	fd, opened := f.await()
	if !opened {
		return
	}
	for line := range f.lines {
		_, failed := unix.Write(fd, []byte(line)) // shorter than PIPE_BUF: all of it, or nothing
		if f.note(failed) {
			f.log.Warn("a line for the notify FIFO was dropped: it is full, and nobody reads it", "path", f.cfg.Path, "error", failed)
		}
	}
	_ = unix.Close(fd)
	if f.made {
		f.remove()
	}
}

// await opens the pipe, and tries again as long as that fails: whoever has its place may let go. Lines that come meanwhile are dropped. It has failed when
// there are no more lines.
func (f *fifo) await() (fd int, opened bool) {
	wait := leastTry
	again := time.NewTimer(wait)
	defer again.Stop()
	for {
		fd, err := f.open()
		f.say(err)
		if err == nil {
			return fd, true
		}
		for due := false; !due; {
			select {
			case _, more := <-f.lines:
				if !more {
					return -1, false
				}
				f.note(err)
			case <-again.C:
				due = true
			}
		}
		wait = min(2*wait, mostTry)
		again.Reset(wait)
	}
}

// say notes why the pipe is not open, and logs what is new of that.
func (f *fifo) say(err error) {
	f.mu.Lock()
	was := f.seen.Error
	f.seen.Error, f.seen.Code = "", ""
	if err != nil {
		f.seen.Error, f.seen.Code = err.Error(), code.FIFOUnwritten
	}
	is := f.seen.Error
	f.mu.Unlock()
	switch {
	case is != "" && is != was:
		f.log.Warn("the notify FIFO cannot be written; keepvip goes on without it and tries again", "path", f.cfg.Path,
			"code", string(code.FIFOUnwritten), "error", err, "remedy", code.FIFOUnwritten.Entry().Remedy)
	case is == "" && was != "":
		f.log.Info("the notify FIFO is open now", "path", f.cfg.Path)
	}
}

// ownMode is that of a pipe that keepvip makes. The sticky bit means nothing for a pipe: by it a run knows one that an earlier run made, and was
// killed before it could remove it.
const ownMode = unix.S_IFIFO | unix.S_ISVTX | 0o600

// open makes the pipe if there is nothing, and opens it for both ends, without waiting for anybody. The path is resolved once: what a user puts
// in place of the pipe meanwhile is not given away.
func (f *fifo) open() (fd int, err error) {
	if err := unix.Mkfifo(f.cfg.Path, ownMode&^unix.S_IFMT); err != nil && !errors.Is(err, fs.ErrExist) {
		return -1, fmt.Errorf("make it: %w, want a directory that is there and that keepvip may write, such as /run/keepvip", err)
	}
	at, err := unix.Open(f.cfg.Path, unix.O_PATH|unix.O_CLOEXEC|unix.O_NOFOLLOW, 0)
	if err != nil {
		return -1, fmt.Errorf("open it: %w", err)
	}
	defer func() { err = errors.Join(err, unix.Close(at)) }()
	if err := unix.Fstat(at, &f.opened); err != nil || f.opened.Mode&unix.S_IFMT != unix.S_IFIFO {
		return -1, errors.Join(errors.New("it is no pipe, want one, or nothing there"), err)
	}
	f.made = f.opened.Mode == ownMode && (f.opened.Uid == f.cfg.UID || int(f.opened.Uid) == os.Geteuid())
	if f.made {
		// Root may lack the capability to open what a user owns.
		if err := f.give(at, uint32(os.Geteuid()), uint32(os.Getegid())); err != nil {
			return -1, err
		}
	}
	fd, err = unix.Open(fmt.Sprintf("/proc/self/fd/%d", at), unix.O_RDWR|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return -1, fmt.Errorf("open it: %w", err)
	}
	if f.made {
		if err := f.give(at, f.cfg.UID, f.cfg.GID); err != nil {
			f.remove()
			return -1, errors.Join(err, unix.Close(fd))
		}
	}
	return fd, nil
}

// give makes a user the owner of the open pipe.
func (f *fifo) give(at int, uid, gid uint32) error {
	var info unix.Stat_t
	if err := unix.Fstat(at, &info); err == nil && info.Uid == uid && info.Gid == gid {
		return nil
	}
	if err := unix.Fchownat(at, "", int(uid), int(gid), unix.AT_EMPTY_PATH); err != nil {
		return fmt.Errorf("give it to user %d: %w; keepvip needs the capability CHOWN, which the unit of `keepvip manifest systemd` has", uid, err)
	}
	return nil
}

// remove removes the pipe, unless something else is in its place.
func (f *fifo) remove() {
	var info unix.Stat_t
	if unix.Lstat(f.cfg.Path, &info) == nil && info.Dev == f.opened.Dev && info.Ino == f.opened.Ino {
		_ = os.Remove(f.cfg.Path)
	}
}

// note counts a line, and tells whether it is the first one that was dropped after one that was not.
func (f *fifo) note(err error) (news bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err == nil {
		f.seen.Written++
		f.full = false
		return false
	}
	f.seen.Dropped++
	news, f.full = !f.full, true
	return news
}

func (f *fifo) status() *FIFOStatus {
	f.mu.Lock()
	defer f.mu.Unlock()
	s := f.seen
	return &s
}
