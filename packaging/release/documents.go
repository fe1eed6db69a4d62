package release

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// documents are the pages that people read, with their pictures and schemas, by their paths in the sources: links between them lead on.
func (r *Release) documents() (map[string][]byte, error) {
	out := map[string][]byte{}
	take := func(path string) error {
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		name, err := filepath.Rel(r.Source, path)
		out[filepath.ToSlash(name)] = data
		return err
	}
	top, err := filepath.Glob(filepath.Join(r.Source, "*.md"))
	if err != nil {
		return nil, fmt.Errorf("release: %w", err)
	}
	for _, path := range top {
		if err := take(path); err != nil {
			return nil, fmt.Errorf("release: %w", err)
		}
	}
	err = filepath.WalkDir(filepath.Join(r.Source, "docs"), func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || strings.HasSuffix(path, ".go") {
			return err
		}
		return take(path)
	})
	if err != nil {
		return nil, fmt.Errorf("release: %w", err)
	}
	return out, nil
}
