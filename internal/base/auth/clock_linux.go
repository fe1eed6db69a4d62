package auth

import "golang.org/x/sys/unix"

// KernelSynchronized reports whether the kernel takes its wall clock for synchronized (adjtimex(2)). A step by
// hand ends that until somebody disciplines the clock again. Where it cannot be asked, it is false.
func KernelSynchronized() bool {
	var t unix.Timex
	_, err := unix.Adjtimex(&t)
	return err == nil && t.Status&unix.STA_UNSYNC == 0
}
