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

	"github.com/keepvip/keepvip/netns-tests/try"
)

// Trace stops the process for a while as a debugger does: every thread of it
// stands still, and no signal is seen.
func (p *Process) Trace(length time.Duration, stands func()) (err error) {
	defer try.Say(&err, "lab: trace %s", p.Name)
	runtime.LockOSThread() // the kernel takes orders only from the thread that attached
	defer runtime.UnlockOSThread()
	tasks := try.Get(threads(p.PID()))
	var held []int
	defer func() {
		for _, tid := range held {
			_ = unix.PtraceDetach(tid)
		}
	}()
	for _, tid := range tasks {
		try.Do(unix.PtraceSeize(tid))
		held = append(held, tid)
		try.Do(unix.PtraceInterrupt(tid))
		try.Do(p.stands(tid))
	}
	stands()
	time.Sleep(length)
	return nil
}

// Pause stops the process by SIGSTOP, and has it go on after a while. It calls stands once all threads of the process stand still.
func (p *Process) Pause(length time.Duration, stands func()) (err error) {
	defer try.Catch(&err)
	try.Do(p.Stop())
	if err := p.eventually(p.stopped); err != nil {
		return errors.Join(err, p.Cont())
	}
	stands()
	time.Sleep(length)
	return p.Cont()
}

// stopped tells whether all threads are.
func (p *Process) stopped() (_ bool, err error) {
	defer try.Catch(&err)
	for _, tid := range try.Get(threads(p.PID())) {
		if state, err := p.state(tid); err != nil || state != "T" {
			return false, err
		}
	}
	return true, nil
}

// state is what a thread does (proc_pid_stat(5)): T stopped, t stopped by a debugger.
func (p *Process) state(tid int) (_ string, err error) {
	defer try.Catch(&err)
	_, rest, _ := strings.Cut(string(try.Get(os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/stat", p.PID(), tid)))), ") ")
	state, _, _ := strings.Cut(rest, " ")
	return state, nil
}

// standLimit is how long a process may take to stand still.
const standLimit = 5 * time.Second

// eventually waits until the process stands still.
func (p *Process) eventually(still func() (bool, error)) error {
	for end := time.Now().Add(standLimit); time.Now().Before(end); time.Sleep(time.Millisecond) {
		if done, err := still(); done || err != nil {
			return err
		}
	}
	return fmt.Errorf("lab: %s does not stand still within %v", p.Name, standLimit)
}

// stands waits until a traced thread stands still. Whoever else in this program waits for the process may be told of it instead, once,
// so that to wait for the news alone could last forever.
func (p *Process) stands(tid int) error {
	for end := time.Now().Add(time.Second); time.Now().Before(end); time.Sleep(time.Millisecond) {
		var status unix.WaitStatus
		if got, err := unix.Wait4(tid, &status, unix.WALL|unix.WNOHANG, nil); err != nil || got == tid {
			return err
		}
		if state, err := p.state(tid); err != nil || state == "t" {
			return err
		}
	}
	return fmt.Errorf("thread %d did not stop within a second", tid)
}

func threads(pid int) (_ []int, err error) {
	defer try.Catch(&err)
	entries := try.Get(os.ReadDir(fmt.Sprintf("/proc/%d/task", pid)))
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
type freezer struct {
	root, file, frozen, thawed string
	shows, done                string // the file that has this text once all stands still
}

func freezers() []freezer {
	return []freezer{
		{root: "/sys/fs/cgroup/freezer", file: "freezer.state", frozen: "FROZEN", thawed: "THAWED", shows: "freezer.state", done: "FROZEN"},
		{root: "/sys/fs/cgroup/unified", file: "cgroup.freeze", frozen: "1", thawed: "0", shows: "cgroup.events", done: "frozen 1"},
		{root: "/sys/fs/cgroup", file: "cgroup.freeze", frozen: "1", thawed: "0", shows: "cgroup.events", done: "frozen 1"},
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
// does. It calls stands once all threads of the process stand still. The error is ErrNoFreezer where there is none.
func (p *Process) Freeze(length time.Duration, stands func()) error {
	for _, f := range freezers() {
		dir, err := f.group()
		if err != nil {
			continue
		}
		defer func() { _ = os.Remove(dir) }()
		return p.freeze(f, dir, length, stands)
	}
	return ErrNoFreezer
}

func (p *Process) freeze(f freezer, dir string, length time.Duration, stands func()) error {
	pid := strconv.Itoa(p.PID())
	if err := write(filepath.Join(dir, "cgroup.procs"), pid); err != nil {
		return fmt.Errorf("lab: freeze: %w", err)
	}
	defer func() { _ = write(filepath.Join(f.root, "cgroup.procs"), pid) }()
	if err := write(filepath.Join(dir, f.file), f.frozen); err != nil {
		return fmt.Errorf("lab: freeze: %w", err)
	}
	still := func() (bool, error) { return strings.Contains(readFile(filepath.Join(dir, f.shows)), f.done), nil }
	if err := p.eventually(still); err != nil {
		return errors.Join(err, write(filepath.Join(dir, f.file), f.thawed))
	}
	stands()
	time.Sleep(length)
	if err := write(filepath.Join(dir, f.file), f.thawed); err != nil {
		return fmt.Errorf("lab: thaw: %w", err)
	}
	return nil
}

func write(path, text string) error { return os.WriteFile(path, []byte(text), 0o644) }
