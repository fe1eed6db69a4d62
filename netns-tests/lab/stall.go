package lab

import (
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"github.com/keepvip/keepvip/netns-tests/try"
)

// Trace stops the process for a while as a debugger does: every thread of it
// stands still, and no signal is seen.
func (p *Process) Trace(length time.Duration, stands func()) (err error) {
	defer try.Say(&err, "lab: trace %s", p.Name)
	tracer := try.Get(p.space.startHelper(roleTracer, p.PID(), unix.SCHED_NORMAL))
	defer tracer.end() // the kernel lets go on what its tracer has left
	stands()
	time.Sleep(length)
	return nil
}

// runTracer is the helper process that traces. The lab cannot: it waits for the end of its child, and would be told of the stops, too.
func runTracer(pid int) (err error) {
	defer try.Catch(&err)
	runtime.LockOSThread() // the kernel takes orders only from the thread that attached
	for _, tid := range try.Get(threads(pid)) {
		try.Do(unix.PtraceSeize(tid))
		try.Do(unix.PtraceInterrupt(tid))
		try.Get(unix.Wait4(tid, nil, unix.WALL, nil))
	}
	tellReady()
	_, _ = io.Copy(io.Discard, os.Stdin)
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
func (p *Process) stopped() bool {
	all, err := threads(p.PID())
	return err == nil && !slices.ContainsFunc(all, func(tid int) bool { return state(tid) != "T" })
}

// state is what a thread does (proc_pid_stat(5)): T stopped, S asleep; "" if it has ended.
func state(tid int) string {
	if fields := statFields(tid); len(fields) > 0 {
		return fields[0]
	}
	return ""
}

// standLimit is how long a process may take to stand still.
const standLimit = 5 * time.Second

// eventually waits until the process stands still.
func (p *Process) eventually(still func() bool) error {
	if !comes(standLimit, time.Millisecond, still) {
		return fmt.Errorf("lab: %s does not stand still within %v", p.Name, standLimit)
	}
	return nil
}

func threads(pid int) ([]int, error) { return numbersIn(fmt.Sprintf("/proc/%d/task", pid)) }
