package syntax

import (
	"io/fs"
	"path/filepath"

	"github.com/keepvip/keepvip/internal/base/regular"
)

// Files gives the reader what it reads. Paths are joined with the directory of the including file before they come
// here.
type Files interface {
	// Read returns the whole of a file, or an error when it is a directory, cannot be read or is longer than maxFile.
	Read(path string) ([]byte, error)
	// Glob returns the paths that match a pattern without braces, sorted; hidden files only match a pattern that says so.
	Glob(pattern string) ([]string, error)
}

// Bounds of what is read.
const (
	maxFile   = 4 << 20 // bytes of one file
	maxFiles  = 2000    // of all includes
	maxDepth  = 16      // files that include each other
	maxLines  = 200_000 // lines after all replacements, and lines that replacements make
	maxLine   = 1022    // characters: keepalived cuts what is longer, and reads the rest as another line
	maxRounds = 1000    // replacements in one line
)

// Disk reads the files of this host.
type Disk struct {
	// Pipe is the path that a person has named to a command, which may be a pipe, such as that of a process substitution. A pipe that a file
	// includes is refused: reading it would wait for whoever writes to it.
	Pipe string
}

// Read implements [Files].
func (d Disk) Read(path string) (data []byte, err error) {
	if path == d.Pipe {
		data, err = regular.ReadNamed(path, maxFile)
	} else {
		data, err = regular.Read(path, maxFile)
	}
	if err != nil {
		return nil, &fs.PathError{Op: "read", Path: path, Err: err}
	}
	return data, nil
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
