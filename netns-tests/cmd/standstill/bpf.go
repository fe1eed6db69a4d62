package main

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"runtime"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// A BPF program runs where the kernel handles packets: while it does, its processor runs no process and handles no other packet. Since Linux
// 6.15 a loop of may_goto in a function of such a program ends after a quarter of a second.
const (
	quarter     = 250 * time.Millisecond
	maxQuarters = 40 // a processor that is gone for 20 s is reported by the kernel
)

// instruction is one of a program (linux/bpf.h).
type instruction struct {
	Code      uint8
	Registers uint8 // the source is in the upper four bits
	Offset    int16
	Immediate int32
}

const (
	pseudoCall = 1 << 4              // a call of a function of the same program
	mayGoto    = unix.BPF_JMP | 0xe0 // BPF_JCOND
	moveR0     = unix.BPF_ALU64 | unix.BPF_K | unix.BPF_MOV
)

// program takes so many quarters of a second: it calls a function as often, whose loop does nothing until the kernel ends it.
func program(quarters int) (code []instruction) {
	for i := range quarters {
		code = append(code, instruction{Code: unix.BPF_JMP | unix.BPF_CALL, Registers: pseudoCall, Immediate: int32(quarters + 1 - i)})
	}
	return append(code,
		instruction{Code: moveR0}, instruction{Code: unix.BPF_JMP | unix.BPF_EXIT},
		instruction{Code: moveR0}, instruction{Code: mayGoto, Offset: 1}, instruction{Code: unix.BPF_JMP | unix.BPF_JA, Offset: -2}, instruction{Code: unix.BPF_JMP | unix.BPF_EXIT},
	)
}

// load gives the kernel such a program, and returns its descriptor.
func load(quarters int) (fd int, err error) {
	code := program(quarters)
	var text bytes.Buffer
	if err := binary.Write(&text, binary.NativeEndian, code); err != nil {
		return 0, err
	}
	license := []byte("GPL\x00")
	attr := struct {
		kind, count uint32
		code        unsafe.Pointer
		license     unsafe.Pointer
		rest        [104]byte
	}{kind: unix.BPF_PROG_TYPE_SCHED_CLS, count: uint32(len(code)), code: unsafe.Pointer(&text.Bytes()[0]), license: unsafe.Pointer(&license[0])}
	fd, err = bpf(unix.BPF_PROG_LOAD, unsafe.Pointer(&attr), unsafe.Sizeof(attr))
	runtime.KeepAlive(text)
	if err != nil {
		return 0, fmt.Errorf("a BPF program is not loaded: %w", err)
	}
	return fd, nil
}

// runOnce runs a program once, on the processor of the caller.
func runOnce(program int) error {
	packet := make([]byte, 64)
	attr := struct {
		program, retval, sizeIn, sizeOut uint32
		in, out                          unsafe.Pointer
		repeat, duration                 uint32
		rest                             [88]byte
	}{program: uint32(program), sizeIn: uint32(len(packet)), in: unsafe.Pointer(&packet[0]), repeat: 1}
	_, err := bpf(unix.BPF_PROG_TEST_RUN, unsafe.Pointer(&attr), unsafe.Sizeof(attr))
	if err != nil {
		return fmt.Errorf("a BPF program does not run: %w", err)
	}
	return nil
}

func bpf(command int, attr unsafe.Pointer, size uintptr) (int, error) {
	r, _, errno := unix.Syscall(unix.SYS_BPF, uintptr(command), uintptr(attr), size)
	if errno != 0 {
		return 0, errno
	}
	return int(r), nil
}
