package syntax

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// Files gives the reader what it reads. Paths are joined with the directory of the including file before they come here.
type Files interface {
	// Read returns the whole of a file, or an error when it is a directory, cannot be read or is longer than MaxFile.
	Read(path string) ([]byte, error)
	// Glob returns the paths that match a pattern without braces, sorted; hidden files only match a pattern that says so.
	Glob(pattern string) ([]string, error)
}

// Bounds of what is read.
const (
	MaxFile   = 4 << 20 // bytes of one file
	maxFiles  = 2000    // of all includes
	maxDepth  = 16      // files that include each other
	maxLines  = 200_000 // lines after all replacements, and lines that replacements make
	maxLine   = 1022    // characters: keepalived cuts what is longer, and reads the rest as another line
	maxRounds = 1000    // replacements in one line
)

// Disk reads the files of this host.
type Disk struct{}

// Read implements [Files].
func (Disk) Read(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	info, err := f.Stat()
	switch {
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular() && info.Mode()&os.ModeNamedPipe == 0:
		return nil, &os.PathError{Op: "read", Path: path, Err: errors.New("it is not a regular file")}
	}
	data, err := io.ReadAll(io.LimitReader(f, MaxFile+1))
	if err == nil && len(data) > MaxFile {
		err = &os.PathError{Op: "read", Path: path, Err: fmt.Errorf("it is longer than %d MiB", MaxFile>>20)}
	}
	return data, err
}

// Glob implements [Files].
func (Disk) Glob(pattern string) ([]string, error) {
	found, err := filepath.Glob(pattern)
	if err != nil {
		return nil, err
	}
	out := found[:0]
	for _, f := range found {
		if !hiddenBeyond(pattern, f) {
			out = append(out, f)
		}
	}
	return out, nil
}
