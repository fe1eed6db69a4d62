package report

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"golang.org/x/sys/unix"
)

// Write puts text into a file of directory, readable by its owner alone, in one step: whoever reads it sees the old text or the new one.
// The directory may be one that everybody may write to, such as /tmp: a symbolic link under that name is not followed, and what another
// user has put there is not replaced but an error.
func Write(directory, name string, text []byte) error {
	return in(directory, name, func(root *os.Root) error {
		fresh := unfinished(name)
		if err := errors.Join(ours(root, name), remove(root, fresh)); err != nil {
			return err
		}
		f, err := root.OpenFile(fresh, os.O_WRONLY|os.O_CREATE|os.O_EXCL|unix.O_NOFOLLOW, 0o600)
		if err != nil {
			return err
		}
		_, err = f.Write(text)
		if err = errors.Join(err, f.Close()); err == nil {
			err = root.Rename(fresh, name)
		}
		if err != nil {
			return errors.Join(err, root.Remove(fresh))
		}
		return nil
	})
}

// unfinished is what a file is called until it is whole.
func unfinished(name string) string { return "." + name + ".new" }

// Remove takes away what Write has written, and what it has begun if it was killed. It is no error when there is nothing.
func Remove(directory, name string) error {
	return in(directory, name, func(root *os.Root) error {
		return errors.Join(remove(root, name), remove(root, unfinished(name)))
	})
}

func in(directory, name string, do func(*os.Root) error) error {
	root, err := os.OpenRoot(directory)
	if err == nil {
		err = errors.Join(do(root), root.Close())
	}
	if err != nil {
		return fmt.Errorf("%s: %w", filepath.Join(directory, name), err)
	}
	return nil
}

func remove(root *os.Root, name string) error {
	if err := ours(root, name); err != nil {
		return err
	}
	if err := root.Remove(name); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// ours refuses what somebody else has put there, and what is no file.
func ours(root *os.Root, name string) error {
	info, err := root.Lstat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	case !info.Mode().IsRegular():
		return fmt.Errorf("%s is no regular file (%v): remove it", name, info.Mode())
	}
	if stat, ok := info.Sys().(*syscall.Stat_t); ok && int(stat.Uid) != os.Geteuid() {
		return fmt.Errorf("%s belongs to user %d: remove it, or name another directory", name, stat.Uid)
	}
	return nil
}
