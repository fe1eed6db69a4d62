package history

import (
	"os"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// bootID is the kernel's id of its boot; empty where it does not tell.
func bootID() string {
	b, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(b))
}

// bootTime is how long ago, at a moment, the kernel has booted, with the time that it was suspended: no wall clock has a part in it.
func bootTime(at time.Time) time.Duration {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &t); err != nil {
		return 0
	}
	return time.Duration(t.Nano()) - time.Since(at)
}
