package lab

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// Trace stops the process for a while as a debugger does: every thread of it
// stands still, and no signal is seen.
func (p *Process) Trace(length time.Duration) error {
	runtime.LockOSThread() // the kernel takes orders only from the thread that attached
	defer runtime.UnlockOSThread()
	tasks, err := threads(p.PID())
	if err != nil {
		return fmt.Errorf("lab: trace %s: %w", p.Name, err)
	}
	var held []int
	defer func() {
		for _, tid := range held {
			_ = unix.PtraceDetach(tid)
		}
	}()
	for _, tid := range tasks {
		if err := unix.PtraceSeize(tid); err != nil {
			return fmt.Errorf("lab: trace %s: %w", p.Name, err)
		}
		held = append(held, tid)
		if err := unix.PtraceInterrupt(tid); err != nil {
			return fmt.Errorf("lab: trace %s: %w", p.Name, err)
		}
		if err := p.stands(tid); err != nil {
			return fmt.Errorf("lab: trace %s: %w", p.Name, err)
		}
	}
	time.Sleep(length)
	return nil
}

// stands waits until a traced thread stands still. Whoever else in this program waits for the process may be told of it instead, once,
// so that to wait for the news alone could last forever.
func (p *Process) stands(tid int) error {
	for end := time.Now().Add(time.Second); time.Now().Before(end); time.Sleep(time.Millisecond) {
		var status unix.WaitStatus
		if got, err := unix.Wait4(tid, &status, unix.WALL|unix.WNOHANG, nil); err != nil || got == tid {
			return err
		}
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/stat", p.PID(), tid))
		if err != nil {
			return err
		}
		if _, state, _ := strings.Cut(string(stat), ") "); strings.HasPrefix(state, "t") {
			return nil
		}
	}
	return fmt.Errorf("thread %d did not stop within a second", tid)
}

func threads(pid int) ([]int, error) {
	entries, err := os.ReadDir(fmt.Sprintf("/proc/%d/task", pid))
	if err != nil {
		return nil, err
	}
	var found []int
	for _, e := range entries {
		if tid, err := strconv.Atoi(e.Name()); err == nil {
			found = append(found, tid)
		}
	}
	return found, nil
}

// ErrNoFreezer: this machine has no cgroup that can be frozen.
var ErrNoFreezer = errors.New("lab: no cgroup freezer on this machine")

// freezer is one of the kernel's two interfaces.
type freezer struct{ root, file, frozen, thawed string }

func freezers() []freezer {
	return []freezer{
		{root: "/sys/fs/cgroup/freezer", file: "freezer.state", frozen: "FROZEN", thawed: "THAWED"},
		{root: "/sys/fs/cgroup/unified", file: "cgroup.freeze", frozen: "1", thawed: "0"},
		{root: "/sys/fs/cgroup", file: "cgroup.freeze", frozen: "1", thawed: "0"},
	}
}

// group makes a cgroup that can be frozen, and returns its directory.
func (f freezer) group() (string, error) {
	dir := filepath.Join(f.root, fmt.Sprintf("%s%d", runPrefix, os.Getpid()))
	if err := os.Mkdir(dir, 0o755); err != nil && !errors.Is(err, os.ErrExist) {
		return "", ErrNoFreezer
	}
	if _, err := os.Stat(filepath.Join(dir, f.file)); err != nil {
		_ = os.Remove(dir)
		return "", ErrNoFreezer
	}
	return dir, nil
}

// HasFreezer tells whether [Process.Freeze] works on this machine.
func HasFreezer() bool {
	for _, f := range freezers() {
		if dir, err := f.group(); err == nil {
			_ = os.Remove(dir)
			return true
		}
	}
	return false
}

// Freeze stops the process for a while by the cgroup freezer, as `docker pause`
// does. The error is ErrNoFreezer where there is none.
func (p *Process) Freeze(length time.Duration) error {
	for _, f := range freezers() {
		dir, err := f.group()
		if err != nil {
			continue
		}
		defer func() { _ = os.Remove(dir) }()
		return f.freeze(dir, strconv.Itoa(p.PID()), length)
	}
	return ErrNoFreezer
}

func (f freezer) freeze(dir, pid string, length time.Duration) error {
	if err := write(filepath.Join(dir, "cgroup.procs"), pid); err != nil {
		return fmt.Errorf("lab: freeze: %w", err)
	}
	defer func() { _ = write(filepath.Join(f.root, "cgroup.procs"), pid) }()
	if err := write(filepath.Join(dir, f.file), f.frozen); err != nil {
		return fmt.Errorf("lab: freeze: %w", err)
	}
	time.Sleep(length)
	if err := write(filepath.Join(dir, f.file), f.thawed); err != nil {
		return fmt.Errorf("lab: thaw: %w", err)
	}
	return nil
}

func write(path, text string) error { return os.WriteFile(path, []byte(text), 0o644) }
