package lab

import "golang.org/x/sys/unix"

func programCounter(r unix.PtraceRegs) uint64 { return r.Rip }
