package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// pidFile is a file that holds the id of this process while it runs.
type pidFile struct {
	path   string
	needed bool // without it nothing is started

	file *os.File
	made bool // it was not there before
}

// pidFiles are opened before anything else is done, so that a place that cannot be written is an error of the start, and written when it is certain
// that this process runs.
type pidFiles struct {
	files   []*pidFile
	missing []error // of those that are not needed
	written bool
}

// openPIDFiles opens the files. One that names a keepalived that runs is an error: both would hold the addresses.
func openPIDFiles(all []pidFile) (*pidFiles, error) {
	out := &pidFiles{}
	for _, f := range all {
		err := f.open()
		var other *runningError
		switch {
		case err == nil:
			out.files = append(out.files, &f)
		case f.needed, errors.As(err, &other):
			out.remove()
			return nil, err
		default:
			out.missing = append(out.missing, err)
		}
	}
	return out, nil
}

type runningError struct{ pid, path string }

func (e *runningError) Error() string {
	return fmt.Sprintf("%s: keepalived runs here as process %s, want it stopped first: both would hold the addresses", e.path, e.pid)
}

func (f *pidFile) open() error {
	if pid := readPID(f.path); pid != "" && pid != strconv.Itoa(os.Getpid()) && nameOf(pid) == "keepalived" {
		return &runningError{pid, f.path}
	}
	file, err := os.OpenFile(f.path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o644)
	f.made = err == nil
	if errors.Is(err, os.ErrExist) {
		file, err = openStale(f.path)
	}
	f.file = file
	return err
}

// openStale opens a file that was left there. It is written to later, so that it must not be somebody else's: a link, or a file with more in it
// than a number.
func openStale(path string) (*os.File, error) {
	file, err := os.OpenFile(path, os.O_RDWR|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
	if errors.Is(err, unix.ELOOP) {
		return nil, fmt.Errorf("%s: a symbolic link, want it removed, or another file for the process id", path)
	}
	if err != nil {
		return nil, err
	}
	text, err := startOf(file)
	if err == nil && strings.Trim(text, "0123456789 \n") != "" {
		err = errors.New("not the file of a process id")
	}
	if err != nil {
		_ = file.Close() // nothing was written
		return nil, fmt.Errorf("%s: %w, want another file for the process id", path, err)
	}
	return file, nil
}

// mostPID is longer than any file of a process id.
const mostPID = 64

// startOf reads no more than such a file has, and nothing that could hold it up.
func startOf(f *os.File) (string, error) {
	info, err := f.Stat()
	if err != nil {
		return "", err
	}
	if !info.Mode().IsRegular() {
		return "", fmt.Errorf("no regular file (%v)", info.Mode())
	}
	text, err := io.ReadAll(io.LimitReader(f, mostPID))
	return string(text), err
}

// readPID is the number in a file; "" without one.
func readPID(path string) string {
	f, err := os.OpenFile(path, os.O_RDONLY|unix.O_NONBLOCK, 0)
	if err != nil {
		return ""
	}
	defer f.Close()
	text, err := startOf(f)
	if err != nil {
		return ""
	}
	pid := strings.TrimSpace(text)
	if _, err := strconv.ParseUint(pid, 10, 31); err != nil {
		return ""
	}
	return pid
}

// nameOf is the name of the process of that id; "" without one.
func nameOf(pid string) string {
	name, err := os.ReadFile(filepath.Join("/proc", pid, "comm"))
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(name))
}

// write writes the id of this process into each file.
func (p *pidFiles) write() {
	p.written = true
	pid := []byte(strconv.Itoa(os.Getpid()) + "\n")
	for _, f := range p.files {
		_ = f.file.Truncate(0) // a disk that is full keeps no address from being served
		_, _ = f.file.WriteAt(pid, 0)
	}
}

// remove closes the files, and removes those that are this process's own.
func (p *pidFiles) remove() {
	own := strconv.Itoa(os.Getpid())
	for _, f := range p.files {
		_ = f.file.Close()
		if p.written && readPID(f.path) == own || !p.written && f.made {
			_ = os.Remove(f.path)
		}
	}
}
