package syntax

import (
	"io/fs"
	"path/filepath"
	"slices"
)

// memory is a host's files in a test.
type memory map[string]string

func (m memory) Read(path string) ([]byte, error) {
	text, ok := m[path]
	if !ok {
		return nil, &fs.PathError{Op: "open", Path: path, Err: fs.ErrNotExist}
	}
	return []byte(text), nil
}

func (m memory) Glob(pattern string) ([]string, error) {
	var out []string
	for path := range m {
		ok, err := filepath.Match(pattern, path)
		if err != nil {
			return nil, err
		}
		if ok && !hiddenBeyond(pattern, path) {
			out = append(out, path)
		}
	}
	slices.Sort(out)
	return out, nil
}
