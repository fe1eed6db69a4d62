package daemon

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

const (
	// realtimePriority is above whatever is not real-time, and far below the kernel's own interrupt threads (50).
	realtimePriority = 10
	tasksDir         = "/proc/self/task"
)

// goRealtime puts every thread of this process under SCHED_RR; threads that are made later inherit it. Without the
// capability SYS_NICE, or in a control group without a real-time budget, it stays as it is, and the log says so once.
func goRealtime(log *slog.Logger) {
	if err := scheduleAll(unix.SCHED_RR, realtimePriority); err != nil {
		log.Warn("not real-time: advertisements may be late on a loaded node", "error", err,
			"remedy", "grant the capability SYS_NICE, or take the option realtime away")
		return
	}
	log.Info("real-time: scheduled before everything that is not", "policy", "SCHED_RR", "priority", realtimePriority)
}

// scheduleAll goes through the threads until there is none that it has not seen: one that is made by an ordinary thread
// meanwhile is ordinary.
func scheduleAll(policy, priority uint32) error {
	done := map[int]bool{}
	for fresh := true; fresh; {
		fresh = false
		entries, err := os.ReadDir(tasksDir)
		if err != nil {
			return fmt.Errorf("list the threads: %w", err)
		}
		for _, e := range entries {
			id, err := strconv.Atoi(e.Name())
			if err != nil || done[id] {
				continue
			}
			fresh, done[id] = true, true
			attr := &unix.SchedAttr{Size: unix.SizeofSchedAttr, Policy: policy, Priority: priority}
			// A thread that has ended meanwhile needs nothing.
			if err := unix.SchedSetAttr(id, attr, 0); err != nil && !errors.Is(err, unix.ESRCH) {
				return fmt.Errorf("sched_setattr: %w", err)
			}
		}
	}
	return nil
}
