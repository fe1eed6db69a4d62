package daemon

import (
	"bufio"
	"io"
	"os"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// startTime is how long a daemon's start takes, at most, on an ordinary machine.
const startTime = 2 * time.Second

// afterStart has the memory given back that only the start needed. Whoever asked for realtime wants no page fault that can be avoided, so
// there it all stays.
func (d *Daemon) afterStart() *time.Timer {
	realtime := d.cfg.Realtime
	return time.AfterFunc(startTime, func() {
		if realtime {
			return
		}
		if err := releaseStartPages(); err != nil {
			d.log.Debug("memory of the start is kept", "error", err)
		}
	})
}

// pages is a range of this process's memory.
type pages struct{ start, end uintptr }

// releaseStartPages gives back the pages of the program that are mapped. A start reads through most of the program, and a page fault maps its
// neighbours as well, while a running daemon needs a third of it. Nothing is lost: the pages are those of the file, unchanged, and one that
// is needed is mapped again from the kernel's page cache.
func releaseStartPages() error {
	exe, err := os.Readlink("/proc/self/exe")
	if err != nil {
		return err
	}
	f, err := os.Open("/proc/self/maps")
	if err != nil {
		return err
	}
	defer f.Close()
	own, err := programPages(f, exe)
	if err != nil {
		return err
	}
	for _, p := range own {
		if _, _, errno := unix.Syscall(unix.SYS_MADVISE, p.start, p.end-p.start, unix.MADV_DONTNEED); errno != 0 {
			return errno
		}
	}
	return nil
}

// programPages finds the mappings of the file exe that nothing can write to, in the text of /proc/self/maps (proc_pid_maps(5)). A mapping that
// is or was writable may differ from the file, so it is never among them.
func programPages(maps io.Reader, exe string) ([]pages, error) {
	var out []pages
	lines := bufio.NewScanner(maps)
	for lines.Scan() {
		fields := strings.Fields(lines.Text())
		if len(fields) != 6 || fields[5] != exe || !strings.HasPrefix(fields[1], "r-") || !strings.HasSuffix(fields[1], "p") {
			continue
		}
		from, to, _ := strings.Cut(fields[0], "-")
		start, err := strconv.ParseUint(from, 16, 64)
		if err != nil {
			return nil, err
		}
		end, err := strconv.ParseUint(to, 16, 64)
		if err != nil {
			return nil, err
		}
		out = append(out, pages{uintptr(start), uintptr(end)})
	}
	return out, lines.Err()
}
