package state

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// Load reads a file that [Replace] makes: at most that many bytes, and one more where there are more. There is none: nil. It takes away what
// a run that was killed has left of its replacement, so it is for the one process that replaces the file, when it starts.
func Load(path string, most int64) ([]byte, error) {
	_, _ = remove(filepath.Dir(path), func(name string) bool { return strings.HasPrefix(name, unfinished(path)) }) // a disk that takes no change keeps it
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, most+1))
	if err != nil {
		return nil, err
	}
	return b, nil
}

// Replace replaces a file of the state directory as a whole, and makes the directory: a crash leaves the old file or the new one, and what was
// reported as done stays done.
func Replace(path string, b []byte) error {
	if err := os.MkdirAll(filepath.Dir(path), dirMode); err != nil {
		return err
	}
	fresh, err := prepare(path, b)
	if err != nil {
		return err
	}
	defer os.Remove(fresh) // fails once it is renamed
	return install(fresh, path)
}

// install has a file that was prepared take the place of path.
func install(fresh, path string) error {
	dir := filepath.Dir(path)
	if err := SyncDir(dir); err != nil { // after the new name there is no way back
		return err
	}
	if err := os.Rename(fresh, path); err != nil {
		return err
	}
	return SyncDir(dir)
}

// Cleanup takes away what runs that were killed have left of files of the state directory that they were about to replace, and returns the
// paths. It is for when no keepvip runs.
func Cleanup(dir string) (gone []string, err error) {
	return remove(dir, func(name string) bool {
		of, _, ours := strings.Cut(name, newSuffix)
		return ours && len(of) > 1 && of[0] == '.'
	})
}

// newSuffix is behind the name of the file that is to be replaced, in the name of the new one until then. What stands behind it is arbitrary.
const newSuffix = ".new"

// unfinished is what the names of files begin with that are to replace path.
func unfinished(path string) string { return "." + filepath.Base(path) + newSuffix }

// prepare writes a file that can take the place of path, in a directory that is there.
func prepare(path string, b []byte) (fresh string, err error) {
	f, err := os.CreateTemp(filepath.Dir(path), unfinished(path)+"-*")
	if err != nil {
		return "", err
	}
	_, err = f.Write(b)
	err = errors.Join(err, f.Chmod(fileMode), f.Sync())
	if err = errors.Join(err, f.Close()); err != nil {
		_ = os.Remove(f.Name())
		return "", err
	}
	return f.Name(), nil
}

// remove takes away the regular files of those names.
func remove(dir string, which func(name string) bool) (gone []string, err error) {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	errs := []error{err}
	for _, e := range entries {
		if !e.Type().IsRegular() || !which(e.Name()) {
			continue
		}
		path := filepath.Join(dir, e.Name())
		if err := os.Remove(path); err != nil {
			errs = append(errs, err)
			continue
		}
		gone = append(gone, path)
	}
	return gone, errors.Join(errs...)
}

// SyncDir puts the names in a directory on the disk: one that is new there, or not there any more, is so after a loss of power, too.
func SyncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
