package lab

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/keepvip/keepvip/netns-tests/try"
)

// Command is a program to run on a node.
type Command struct {
	Name string   // names the log files; several processes may share it
	Args []string // program and arguments
	Env  []string // added to a minimal environment (PATH, HOME)
	// Mounts hides host directories behind directories of the node, in a mount
	// namespace of the process: host path -> path to show there. For programs
	// whose paths are fixed.
	Mounts map[string]string
	// Capabilities, if not nil, is all the process may ever have, in setpriv's
	// spelling ("net_admin"). It still runs as root.
	Capabilities []string
	Clock        *Clock // its own wall clock, if not nil; not with Mounts or Capabilities, where another program comes first
}

// Process is a program running on a node.
type Process struct {
	Name string

	space          *Namespace
	cmd            *exec.Cmd
	stdout, stderr string
	done           chan struct{}
	clockAt        uintptr // where the shift of its own clock stands, 0 without one
}

// Start runs args on the node under the given name.
func (n *Node) Start(name string, args ...string) (*Process, error) {
	return n.StartCommand(Command{Name: name, Args: args})
}

// StartCommand runs a program on the node. It is killed with the lab.
func (n *Node) StartCommand(c Command) (_ *Process, err error) {
	defer try.Say(&err, "lab: start %s on %s", c.Name, n.Label)
	argv := c.wrapped()
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Env = append([]string{"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOME=/root"}, c.Env...)
	cmd.Dir = n.Dir
	// Its own group: a Ctrl-C on the terminal goes to the lab alone, which then
	// stops everything in order.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	if len(c.Mounts) > 0 {
		cmd.SysProcAttr.Cloneflags = unix.CLONE_NEWNS
	}
	base := n.Path(fmt.Sprintf("%s.%d", c.Name, len(n.procs)))
	p := &Process{Name: c.Name, space: n.Namespace, cmd: cmd, stdout: base + ".stdout", stderr: base + ".stderr", done: make(chan struct{})}
	for path, to := range map[string]*io.Writer{p.stdout: &cmd.Stdout, p.stderr: &cmd.Stderr} {
		f := try.Get(os.Create(path))
		defer f.Close()
		*to = f
	}
	try.Do(n.Do(func() error { return p.begin(c) }))
	n.procs = append(n.procs, p)
	go func() {
		_ = cmd.Wait()
		close(p.done)
	}()
	return p, nil
}

// begin starts the process from the calling thread.
func (p *Process) begin(c Command) error {
	switch {
	case c.Clock == nil:
		return p.cmd.Start()
	case len(c.Mounts) > 0 || c.Capabilities != nil:
		return errors.New("a clock of its own and mounts or capabilities do not go together")
	}
	return p.startWithClock(*c.Clock)
}

// wrapped puts the mount and capability set-up in front of the program.
func (c Command) wrapped() []string {
	argv := c.Args
	if c.Capabilities != nil {
		set := "-all"
		for _, name := range c.Capabilities {
			set += ",+" + name
		}
		argv = append([]string{"setpriv", "--bounding-set=" + set, "--no-new-privs"}, argv...)
	}
	if len(c.Mounts) > 0 {
		script := "set -e; mount --make-rprivate /; "
		for at, from := range c.Mounts {
			script += fmt.Sprintf("mkdir -p '%s' '%s'; mount --bind '%s' '%s'; ", from, at, from, at)
		}
		argv = append([]string{"sh", "-c", script + `exec "$@"`, "sh"}, argv...)
	}
	return argv
}

// PID is the process's id.
func (p *Process) PID() int { return p.cmd.Process.Pid }

// Done is closed when the process has ended.
func (p *Process) Done() <-chan struct{} { return p.done }

// Alive reports whether the process has not ended.
func (p *Process) Alive() bool {
	select {
	case <-p.done:
		return false
	default:
		return true
	}
}

// Stdout returns what the process wrote to its standard output so far.
func (p *Process) Stdout() string { return readFile(p.stdout) }

// Stderr returns what the process wrote to its standard error so far.
func (p *Process) Stderr() string { return readFile(p.stderr) }

// Log returns both outputs, for a failure message.
func (p *Process) Log() string { return p.Stdout() + p.Stderr() }

func readFile(path string) string {
	b, err := os.ReadFile(path)
	if err != nil {
		return err.Error()
	}
	return string(b)
}

// Kill9 sends SIGKILL to the process and its descendants at once.
func (p *Process) Kill9() error { return p.signalTree(unix.SIGKILL) }

// Stop freezes the process and its descendants with SIGSTOP.
func (p *Process) Stop() error { return p.signalTree(unix.SIGSTOP) }

// Cont undoes [Process.Stop].
func (p *Process) Cont() error { return p.signalTree(unix.SIGCONT) }

// Signal sends a signal to the process alone.
func (p *Process) Signal(sig unix.Signal) (err error) {
	defer try.Say(&err, "lab: signal %s", p.Name)
	return unix.Kill(p.PID(), sig)
}

func (p *Process) signalTree(sig unix.Signal) (err error) {
	defer try.Say(&err, "lab: signal %s", p.Name)
	if !p.Alive() {
		return errors.New("it has ended")
	}
	for _, pid := range append([]int{p.PID()}, descendants(p.PID())...) {
		if err := unix.Kill(pid, sig); err != nil && !errors.Is(err, unix.ESRCH) {
			return err
		}
	}
	return nil
}

// endLimit is how long the end of a process is waited for at least: a busy machine may keep it from ending.
const endLimit = time.Minute

// Wait waits for the end of the process and returns its exit status, -1 if a
// signal ended it.
func (p *Process) Wait(limit time.Duration) (int, error) {
	limit = max(limit, endLimit) // only who waits in vain waits for so long
	select {
	case <-p.done:
		return p.cmd.ProcessState.ExitCode(), nil
	case <-time.After(limit):
		return 0, fmt.Errorf("lab: %s did not end within %v", p.Name, limit)
	}
}

// Terminate sends SIGTERM and waits for the end.
func (p *Process) Terminate(limit time.Duration) (_ int, err error) {
	defer try.Catch(&err)
	try.Do(p.Signal(unix.SIGTERM))
	return p.Wait(limit)
}

// RSS is the resident set of the process in bytes.
func (p *Process) RSS() (int64, error) { return p.memory("VmRSS:") }

// Own is the part of the resident set that is no page of a file, in bytes.
func (p *Process) Own() (int64, error) { return p.memory("RssAnon:") }

// PeakRSS is the largest resident set that the process ever had, in bytes.
func (p *Process) PeakRSS() (int64, error) { return p.memory("VmHWM:") }

func (p *Process) memory(line string) (int64, error) {
	size, ok := memoryOf(p.PID(), line)
	if !ok {
		return 0, fmt.Errorf("lab: %s has no %s", p.Name, line)
	}
	return size, nil
}

// memoryOf reads a line of /proc/PID/status that is in KiB.
func memoryOf(pid int, name string) (int64, bool) {
	for line := range strings.Lines(readFile(fmt.Sprintf("/proc/%d/status", pid))) {
		if rest, ok := strings.CutPrefix(line, name); ok {
			kib, err := strconv.ParseInt(strings.Fields(rest)[0], 10, 64)
			return kib << 10, err == nil
		}
	}
	return 0, false
}

// Files is the number of file descriptors that the process has open.
func (p *Process) Files() (_ int, err error) {
	defer try.Say(&err, "lab: open files of %s", p.Name)
	entries := try.Get(os.ReadDir(fmt.Sprintf("/proc/%d/fd", p.PID())))
	return len(entries), nil
}

// CPU is the processor time the process and its threads have used.
func (p *Process) CPU() (time.Duration, error) {
	fields := statFields(p.PID())
	if len(fields) < 15 {
		return 0, fmt.Errorf("lab: %s has no /proc stat", p.Name)
	}
	return cpuOf(fields), nil
}

// UsedInAll is CPU also of a process that has ended.
func (p *Process) UsedInAll() time.Duration {
	if p.Alive() {
		return cpuOf(statFields(p.PID()))
	}
	return p.cmd.ProcessState.UserTime() + p.cmd.ProcessState.SystemTime()
}

// cpuOf is the processor time in the fields of a /proc stat, 0 without them.
func cpuOf(fields []string) time.Duration {
	if len(fields) < 15 {
		return 0
	}
	user, _ := strconv.ParseInt(fields[11], 10, 64)
	system, _ := strconv.ParseInt(fields[12], 10, 64)
	return time.Duration(user+system) * 10 * time.Millisecond
}

// KillAll kills everything that runs on the node and waits for what the lab
// itself started.
func (n *Node) KillAll() {
	for _, pid := range n.Processes() {
		_ = unix.Kill(pid, unix.SIGKILL)
	}
	var wait sync.WaitGroup
	for _, p := range n.procs {
		wait.Go(func() { _, _ = p.Wait(2 * time.Second) })
	}
	wait.Wait()
	n.api = nil
}

// descendants lists the children of pid, their children and so on.
func descendants(pid int) []int {
	children := map[int][]int{}
	all, _ := numbersIn("/proc")
	for _, candidate := range all {
		if fields := statFields(candidate); len(fields) > 1 {
			if parent, err := strconv.Atoi(fields[1]); err == nil {
				children[parent] = append(children[parent], candidate)
			}
		}
	}
	var found []int
	for queue := children[pid]; len(queue) > 0; queue = queue[1:] {
		found = append(found, queue[0])
		queue = append(queue, children[queue[0]]...)
	}
	return found
}

// statFields returns /proc/PID/stat from the third field (state) on.
func statFields(pid int) []string {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return nil
	}
	_, rest, _ := cutLast(string(b), ")")
	return strings.Fields(rest)
}

// TreeCPU is the processor time that the process and its descendants have used:
// some daemons work in a child.
func (p *Process) TreeCPU() (time.Duration, error) {
	used, err := p.CPU()
	for _, pid := range descendants(p.PID()) {
		used += cpuOf(statFields(pid))
	}
	return used, err
}

// TreeRSS is the resident set of the process and its descendants in octets;
// pages that they share count for each.
func (p *Process) TreeRSS() (int64, error) {
	sum, err := p.RSS()
	for _, pid := range descendants(p.PID()) {
		rss, _ := memoryOf(pid, "VmRSS:")
		sum += rss
	}
	return sum, err
}
