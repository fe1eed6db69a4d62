package startpages

import (
	"bufio"
	"io"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// pages is a range of this process's memory.
type pages struct{ start, end uintptr }

// Release gives back the pages of the program that are mapped. A start reads through most of the program, and a page fault maps its
// neighbours as well, while a running daemon needs a third of it. Nothing is lost: the pages are those of the file, unchanged, and one that
// is needed is mapped again from the kernel's page cache.
func Release() error {
	exe, err := os.Readlink("/proc/self/exe")
	if err != nil {
		return err
	}
	f, err := os.Open("/proc/self/smaps")
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

// programPages finds the mappings of the file exe that are not writable and have no page of their own, in the text of /proc/self/smaps
// (proc_pid_smaps(5)). What was written before a mapping became read-only, as a loader does with the relocations of a position-independent
// program, or by a debugger since, is not in the file: the kernel counts it as anonymous, or as swapped.
func programPages(smaps io.Reader, exe string) ([]pages, error) {
	var out []pages
	var at *mapping // of exe; nil: another's
	lines := bufio.NewScanner(smaps)
	for lines.Scan() {
		fields := strings.Fields(lines.Text())
		switch {
		case len(fields) == 0:
		case !strings.HasSuffix(fields[0], ":"):
			at = nil
			if len(fields) == 6 && fields[5] == exe && strings.HasPrefix(fields[1], "r-") && strings.HasSuffix(fields[1], "p") {
				p, err := parsePages(fields[0])
				if err != nil {
					return nil, err
				}
				at = &mapping{pages: p}
			}
		case at != nil && len(fields) == 3 && fields[1] == "0":
			at.unwritten = at.unwritten || fields[0] == "Anonymous:"
			if at.unwritten && fields[0] == "Swap:" {
				out = append(out, at.pages)
			}
		}
	}
	return out, lines.Err()
}

// mapping is one of the program, as far as it was read.
type mapping struct {
	pages
	unwritten bool // none of its pages in memory differs from the file
}

// parsePages reads a range such as 00400000-00c02000.
func parsePages(text string) (pages, error) {
	from, to, _ := strings.Cut(text, "-")
	start, err := strconv.ParseUint(from, 16, 64)
	if err != nil {
		return pages{}, err
	}
	end, err := strconv.ParseUint(to, 16, 64)
	if err != nil {
		return pages{}, err
	}
	return pages{uintptr(start), uintptr(end)}, nil
}
