package history

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"github.com/keepvip/keepvip/internal/base/state"
)

const (
	// fileName is in the state directory, and so is newName while the file is being replaced.
	fileName = "history.log"
	newName  = ".history.log.new"
	dirMode  = 0o750
	// fileMode lets those read it who may read the directory, as the control socket does.
	fileMode = 0o640
	// maxFile bounds the file, in bytes. With more than maxLines it is replaced by what is in memory as soon as that may be.
	maxFile  = 768 << 10
	maxLines = 2 * maxRecords
)

// disk is where the lines are kept. Its methods may take as long as a disk does.
type disk interface {
	load() (text []byte, ours bool, _ error) // nothing when there is no file; ours: add may follow
	add(text []byte) error                   // at the end of what load or replace has left
	replace(text []byte) error
	sync() error
	close()
}

// file is a disk's file, which one process writes.
type file struct {
	dir string
	f   *os.File // what the name stands for; nil: none yet
}

func (d *file) path() string { return filepath.Join(d.dir, fileName) }

// load takes the file as its own, unless another process has it. One that can only be read is read.
func (d *file) load() (text []byte, ours bool, err error) {
	f, err := openRegular(d.path(), os.O_RDWR|os.O_APPEND)
	ours = err == nil
	if errors.Is(err, unix.EROFS) || errors.Is(err, fs.ErrPermission) {
		f, err = openRegular(d.path(), os.O_RDONLY)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil, false, nil
	}
	if err != nil {
		return nil, false, err
	}
	if ours {
		err = lock(f) // first: the process before writes until it ends
	}
	if err == nil && ours {
		err = d.inPlace(f) // it may have put another file in place before it let this one go
	}
	if err == nil {
		text, err = readAll(f)
	}
	if err != nil || !ours {
		return text, false, errors.Join(err, f.Close())
	}
	d.f = f
	_ = os.Remove(filepath.Join(d.dir, newName)) // of a run that was killed; where it stays, the next replace says why
	return text, true, nil
}

// openRegular opens what is there, and nothing that could block or lead somewhere else.
func openRegular(path string, flag int) (*os.File, error) {
	f, err := os.OpenFile(path, flag|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
	if errors.Is(err, unix.ELOOP) {
		return nil, fmt.Errorf("open %s: a symbolic link, which is not followed: remove it, or name another --state-dir", path)
	}
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("open %s: no regular file", path)
	}
	if err != nil {
		_ = f.Close()
		return nil, err
	}
	return f, nil
}

// readAll reads what may be a file of ours: that has a bound.
func readAll(f *os.File) ([]byte, error) {
	return io.ReadAll(io.LimitReader(f, maxFile))
}

// lock keeps a second process from writing the same file, as long as this one has it open.
func lock(f *os.File) error {
	err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	if errors.Is(err, unix.EWOULDBLOCK) {
		return fmt.Errorf("open %s: another keepvip writes it; give each a --state-dir of its own", f.Name())
	}
	return err
}

// add fails when somebody has taken the file away: what it gets would be lost.
func (d *file) add(text []byte) error {
	err := d.inPlace(d.f)
	if err == nil {
		_, err = d.f.Write(text)
	}
	return err
}

// inPlace is an error unless f is what the name stands for.
func (d *file) inPlace(f *os.File) error {
	there, err := os.Lstat(d.path())
	if err != nil {
		return err
	}
	own, err := f.Stat()
	if err == nil && !os.SameFile(there, own) {
		err = fmt.Errorf("write %s: somebody has put another file in its place", d.path())
	}
	return err
}

// replace puts a new file in place of the old one, as a whole and on the disk.
func (d *file) replace(text []byte) error {
	if err := os.MkdirAll(d.dir, dirMode); err != nil {
		return err
	}
	path := filepath.Join(d.dir, newName)
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) { // of a run that was killed
		return err
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL|os.O_APPEND, fileMode)
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	if err = errors.Join(err, f.Chmod(fileMode), f.Sync(), lock(f)); err == nil {
		err = os.Rename(path, d.path())
	}
	if err != nil {
		_ = f.Close()
		_ = os.Remove(path)
		return err
	}
	d.close()
	d.f = f
	return state.SyncDir(d.dir)
}

func (d *file) sync() error { return d.f.Sync() }

func (d *file) close() {
	if d.f != nil {
		_ = d.f.Close()
		d.f = nil
	}
}

// Read returns what the file in a state directory has, the oldest first, whether a keepvip runs or not, and how many of its lines are damaged.
// The error wraps fs.ErrNotExist where there is none.
func Read(dir string) (records []Record, damaged int, err error) {
	d := file{dir: dir}
	f, err := openRegular(d.path(), os.O_RDONLY)
	if err != nil {
		return nil, 0, fmt.Errorf("history: %w", err)
	}
	defer f.Close()
	b, err := readAll(f)
	if err != nil {
		return nil, 0, fmt.Errorf("history: %w", err)
	}
	c, err := parse(b)
	if err != nil {
		return nil, 0, fmt.Errorf("history: %s: %w", d.path(), err)
	}
	var kept ring
	for _, l := range c.lines {
		kept.add(l)
	}
	for _, l := range kept.lines {
		_, r, _ := decode(l.text)
		records = append(records, r)
	}
	return records, c.damaged, nil
}

// Path is the file in a state directory.
func Path(dir string) string { d := file{dir: dir}; return d.path() }
