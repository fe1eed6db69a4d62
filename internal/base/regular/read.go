package regular

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"golang.org/x/sys/unix"
)

// ErrNotRegular is about a path that leads to no regular file.
var ErrNotRegular = errors.New("not a regular file, want one")

// Open opens a regular file for reading, and gives its size in bytes. Errors do not name the path: whoever opens it has named it.
func Open(path string) (f *os.File, size int64, err error) {
	f, err = os.OpenFile(path, os.O_RDONLY|unix.O_NONBLOCK|unix.O_NOCTTY, 0)
	if err != nil {
		return nil, 0, Plain(err)
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = ErrNotRegular
	}
	if err != nil {
		_ = f.Close() // nothing was written
		return nil, 0, Plain(err)
	}
	return f, info.Size(), nil
}

// Read reads a regular file of at most that many bytes. Errors are as those of [Open].
func Read(path string, most int64) ([]byte, error) {
	f, _, err := Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return ReadAll(f, most)
}

// ReadNamed reads what a person has named to a command: a regular file, or a pipe such as that of a process substitution, for whose end it
// waits.
func ReadNamed(path string, most int64) ([]byte, error) {
	info, err := os.Stat(path)
	if err != nil || info.Mode()&fs.ModeNamedPipe == 0 {
		return Read(path, most)
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, Plain(err)
	}
	defer f.Close()
	return ReadAll(f, most)
}

// ReadAll reads at most that many bytes to the end, such as of standard input.
func ReadAll(f io.Reader, most int64) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(f, most+1))
	switch {
	case err != nil:
		return nil, Plain(err)
	case int64(len(data)) > most:
		return nil, fmt.Errorf("more than %d bytes, want at most that", most)
	}
	return data, nil
}

// Plain drops the operation and the path, which the caller names.
func Plain(err error) error {
	var pe *fs.PathError
	if errors.As(err, &pe) {
		return pe.Err
	}
	return err
}
