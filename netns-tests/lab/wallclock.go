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
	"time"

	"golang.org/x/sys/unix"
)

// ownClock is what a process is given for the kernel's clock_gettime of the vDSO: it asks the kernel, and adds to
// CLOCK_REALTIME the seconds that stand behind it.
var ownClock = []byte{
	0xb8, 0xe4, 0x00, 0x00, 0x00, // mov eax, SYS_clock_gettime
	0x0f, 0x05, // syscall
	0x85, 0xff, // test edi, edi (CLOCK_REALTIME is 0)
	0x75, 0x0a, // jne to the end
	0x48, 0x8b, 0x0d, 0x04, 0x00, 0x00, 0x00, // mov rcx, [the seconds]
	0x48, 0x01, 0x0e, // add [rsi], rcx
	0xc3, // ret
}

// StepClock makes the wall clock of this process alone, and of no other, wrong by so much from now on. No namespace can do
// that: the process's own copy of the vDSO is changed, where a Go program reads its clocks.
func (p *Process) StepClock(by time.Duration) error {
	if runtime.GOARCH != "amd64" {
		return fmt.Errorf("lab: step the clock of %s: only on amd64", p.Name)
	}
	memory, err := os.OpenFile(fmt.Sprintf("/proc/%d/mem", p.PID()), os.O_RDWR, 0)
	if err != nil {
		return fmt.Errorf("lab: step the clock of %s: %w", p.Name, err)
	}
	defer memory.Close()
	begin, end, err := vdso(p.PID())
	if err != nil {
		return fmt.Errorf("lab: step the clock of %s: %w", p.Name, err)
	}
	image := make([]byte, end-begin)
	if _, err := memory.ReadAt(image, int64(begin)); err != nil {
		return fmt.Errorf("lab: read the vDSO of %s: %w", p.Name, err)
	}
	at, err := clockIn(image)
	if err != nil {
		return fmt.Errorf("lab: vDSO of %s: %w", p.Name, err)
	}
	code := binary.LittleEndian.AppendUint64(bytes.Clone(ownClock), uint64(int64(by/time.Second)))
	for range 100 {
		done := false
		if err := p.stopped(func(tasks []int) (err error) {
			if done, err = outside(tasks, begin, end); done {
				_, err = memory.WriteAt(code, int64(begin+at))
			}
			return err
		}); err != nil || done {
			return err
		}
	}
	return fmt.Errorf("lab: %s reads its clock all the time", p.Name)
}

// outside tells whether no thread is in [begin, end).
func outside(tasks []int, begin, end uint64) (bool, error) {
	for _, tid := range tasks {
		var r unix.PtraceRegs
		if err := unix.PtraceGetRegs(tid, &r); err != nil {
			return false, fmt.Errorf("lab: registers: %w", err)
		}
		if pc := programCounter(r); pc >= begin && pc < end {
			return false, nil
		}
	}
	return true, nil
}

func vdso(pid int) (begin, end uint64, err error) {
	for line := range strings.Lines(readFile(fmt.Sprintf("/proc/%d/maps", pid))) {
		if strings.HasSuffix(strings.TrimSpace(line), "[vdso]") {
			_, err = fmt.Sscanf(line, "%x-%x", &begin, &end)
			return begin, end, err
		}
	}
	return 0, 0, errors.New("no vDSO")
}

// clockIn finds the function in the image.
func clockIn(image []byte) (uint64, error) {
	f, err := elf.NewFile(bytes.NewReader(image))
	if err != nil {
		return 0, err
	}
	defer f.Close()
	symbols, err := f.DynamicSymbols()
	if err != nil {
		return 0, err
	}
	for _, s := range symbols {
		if s.Name == "__vdso_clock_gettime" && s.Size >= uint64(len(ownClock)+8) {
			return s.Value, nil
		}
	}
	return 0, errors.New("no clock_gettime that is long enough")
}
