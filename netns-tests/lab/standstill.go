package lab

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/keepvip/keepvip/netns-tests/try"
)

// Clock is a wall clock of a process's own: CLOCK_REALTIME as clock_gettime(2) shows it, which is how Go programs read
// it. The monotonic clock and every other process stay as they are, and so do the kernel's timestamps of packets: to a
// process whose clock is ahead these look as old as that.
//
// No namespace has a CLOCK_REALTIME, so the code that the kernel gives each process for reading clocks (vdso(7)) is
// replaced in this one, before its first instruction.
type Clock struct {
	Ahead time.Duration // of the machine's clock, in whole seconds
}

// clockCode reads a clock by the system call, and adds the eight octets at clockShift to the seconds of CLOCK_REALTIME.
type clockCode struct {
	symbol string
	code   []byte
}

// clockShift is where the seconds stand that the code adds.
const clockShift = 32

func clockCodes() map[string]clockCode {
	return map[string]clockCode{
		"amd64": {symbol: "__vdso_clock_gettime", code: []byte{
			0xb8, 0xe4, 0x00, 0x00, 0x00, // mov $228, %eax (clock_gettime)
			0x0f, 0x05, // syscall
			0x85, 0xc0, // test %eax, %eax
			0x75, 0x0e, // jnz end
			0x85, 0xff, // test %edi, %edi (CLOCK_REALTIME)
			0x75, 0x0a, // jnz end
			0x48, 0x8b, 0x15, 0x0a, 0x00, 0x00, 0x00, // mov shift(%rip), %rdx
			0x48, 0x01, 0x16, // add %rdx, (%rsi)
			0xc3,                               // end: ret
			0x90, 0x90, 0x90, 0x90, 0x90, 0x90, // up to shift
			0, 0, 0, 0, 0, 0, 0, 0,
		}},
	}
}

// startWithClock starts a command and gives it its clock before it runs. It must be called on a thread that stays: that
// thread traces the process until then.
func (p *Process) startWithClock(c Clock) (err error) {
	defer try.Catch(&err)
	p.cmd.SysProcAttr.Ptrace = true
	try.Do(p.cmd.Start())
	if err = stopped(p.PID()); err == nil {
		p.clockAt, err = replaceClock(p.PID(), c.Ahead)
	}
	if err = errors.Join(err, syscall.PtraceDetach(p.PID())); err != nil {
		_ = p.cmd.Process.Kill()
		_ = p.cmd.Wait()
	}
	return err
}

// StepClock steps the clock of a process that was started with its own.
func (p *Process) StepClock(ahead time.Duration) (err error) {
	defer try.Say(&err, "lab: step the clock of %s", p.Name)
	if p.clockAt == 0 {
		return errors.New("it was started without one of its own")
	}
	// Not by ptrace(2): whoever waits for the end of this child would be told of its stop.
	memory := try.Get(os.OpenFile(fmt.Sprintf("/proc/%d/mem", p.PID()), os.O_WRONLY, 0))
	defer memory.Close()
	return try.Err(memory.WriteAt(seconds(ahead), int64(p.clockAt)))
}

// stopped waits until a traced process stands still.
func stopped(pid int) error {
	var status syscall.WaitStatus
	for {
		_, err := syscall.Wait4(pid, &status, unix.WALL, nil)
		switch {
		case err == syscall.EINTR:
		case err != nil:
			return err
		case !status.Stopped():
			return fmt.Errorf("process %d has ended", pid)
		default:
			return nil
		}
	}
}

func seconds(d time.Duration) []byte {
	return binary.NativeEndian.AppendUint64(nil, uint64(int64(d/time.Second)))
}

// replaceClock puts the code for this machine into a process that stands still, and returns the address of the seconds.
func replaceClock(pid int, ahead time.Duration) (_ uintptr, err error) {
	defer try.Say(&err, "lab: a clock of a process's own")
	with, ok := clockCodes()[runtime.GOARCH]
	if !ok {
		return 0, fmt.Errorf("not known how on %s", runtime.GOARCH)
	}
	at, size := try.Two(clockReader(pid, with.symbol))
	if size < uint64(len(with.code)) {
		return 0, fmt.Errorf("%s has %d octets, want %d", with.symbol, size, len(with.code))
	}
	code := append(bytes.Clone(with.code[:clockShift]), seconds(ahead)...)
	try.Get(syscall.PtracePokeText(pid, at, code))
	return at + clockShift, nil
}

// clockReader finds the function that reads clocks in a process that stands still.
func clockReader(pid int, symbol string) (at uintptr, size uint64, err error) {
	defer try.Catch(&err)
	start, end := try.Two(vdso(pid))
	image := make([]byte, end-start)
	try.Get(syscall.PtracePeekText(pid, start, image))
	for _, s := range try.Get(try.Get(elf.NewFile(bytes.NewReader(image))).DynamicSymbols()) {
		if s.Name == symbol {
			return start + uintptr(s.Value), s.Size, nil
		}
	}
	return 0, 0, fmt.Errorf("the vdso has no %s", symbol)
}

// vdso is where the kernel has put its code into a process.
func vdso(pid int) (start, end uintptr, err error) {
	defer try.Catch(&err)
	for line := range strings.Lines(string(try.Get(os.ReadFile(fmt.Sprintf("/proc/%d/maps", pid))))) {
		if strings.HasSuffix(strings.TrimSpace(line), "[vdso]") {
			try.Get(fmt.Sscanf(line, "%x-%x", &start, &end))
			return start, end, nil
		}
	}
	return 0, 0, fmt.Errorf("process %d has no vdso", pid)
}

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
