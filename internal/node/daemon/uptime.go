package daemon

import (
	"time"

	"golang.org/x/sys/unix"
)

// uptime is for how long this host has run, also while it was suspended; an hour where nobody knows.
func uptime() time.Duration {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &t); err != nil {
		return time.Hour
	}
	return time.Duration(t.Nano())
}
