package lab

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"runtime"
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

const (
	clockReaderName = "__vdso_clock_gettime"
	// clockShift is where in clockCode the seconds stand that it adds.
	clockShift = 32
)

// clockCode reads a clock by the system call, and adds the eight octets at clockShift to the seconds of CLOCK_REALTIME. It is for amd64.
var clockCode = []byte{
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

// replaceClock puts the code into a process that stands still, and returns the address of the seconds.
func replaceClock(pid int, ahead time.Duration) (_ uintptr, err error) {
	defer try.Say(&err, "lab: a clock of a process's own")
	if runtime.GOARCH != "amd64" {
		return 0, fmt.Errorf("not known how on %s", runtime.GOARCH)
	}
	at, size := try.Two(clockReader(pid))
	if size < uint64(len(clockCode)) {
		return 0, fmt.Errorf("%s has %d octets, want %d", clockReaderName, size, len(clockCode))
	}
	code := append(bytes.Clone(clockCode[:clockShift]), seconds(ahead)...)
	try.Get(syscall.PtracePokeText(pid, at, code))
	return at + clockShift, nil
}

// clockReader finds the function that reads clocks in a process that stands still.
func clockReader(pid int) (at uintptr, size uint64, err error) {
	defer try.Catch(&err)
	start, end := try.Two(vdso(pid))
	image := make([]byte, end-start)
	try.Get(syscall.PtracePeekText(pid, start, image))
	for _, s := range try.Get(try.Get(elf.NewFile(bytes.NewReader(image))).DynamicSymbols()) {
		if s.Name == clockReaderName {
			return start + uintptr(s.Value), s.Size, nil
		}
	}
	return 0, 0, fmt.Errorf("the vdso has no %s", clockReaderName)
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
