// Package archive writes tar archives that are the same bits for the same contents: sorted, owned by root, of one time.
package archive

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"
)

// File is one regular file.
type File struct {
	Path string // relative, with slashes
	Mode int64  // permission bits
	Data []byte
}

// Tar packs files and the directories above them, all with the time t.
func Tar(files []File, t time.Time) ([]byte, error) {
	files = slices.SortedFunc(slices.Values(files), func(a, b File) int { return strings.Compare(a.Path, b.Path) })
	var buf bytes.Buffer
	w := tar.NewWriter(&buf)
	made := map[string]bool{}
	for _, f := range files {
		for _, dir := range above(f.Path) {
			if made[dir] {
				continue
			}
			made[dir] = true
			if err := w.WriteHeader(&tar.Header{Typeflag: tar.TypeDir, Name: dir + "/", Mode: 0o755, ModTime: t, Format: tar.FormatPAX}); err != nil {
				return nil, fmt.Errorf("archive: %s: %w", dir, err)
			}
		}
		if err := w.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: f.Path, Size: int64(len(f.Data)), Mode: f.Mode, ModTime: t, Format: tar.FormatPAX}); err != nil {
			return nil, fmt.Errorf("archive: %s: %w", f.Path, err)
		}
		if _, err := w.Write(f.Data); err != nil {
			return nil, fmt.Errorf("archive: %s: %w", f.Path, err)
		}
	}
	if err := w.Close(); err != nil {
		return nil, fmt.Errorf("archive: %w", err)
	}
	return buf.Bytes(), nil
}

// above lists the directories of a path, the outermost first.
func above(p string) []string {
	var out []string
	for dir := path.Dir(p); dir != "." && dir != "/"; dir = path.Dir(dir) {
		out = append(out, dir)
	}
	slices.Reverse(out)
	return out
}

// Gzip compresses without a name or a time.
func Gzip(data []byte) ([]byte, error) {
	var buf bytes.Buffer
	w, err := gzip.NewWriterLevel(&buf, gzip.BestCompression)
	if err != nil {
		return nil, fmt.Errorf("archive: %w", err)
	}
	if _, err := w.Write(data); err != nil {
		return nil, fmt.Errorf("archive: %w", err)
	}
	if err := w.Close(); err != nil {
		return nil, fmt.Errorf("archive: %w", err)
	}
	return buf.Bytes(), nil
}
