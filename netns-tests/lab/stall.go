package lab

import (
	"errors"
	"fmt"
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
	runtime.LockOSThread() // the kernel takes orders only from the thread that attached
	defer runtime.UnlockOSThread()
	tasks := try.Get(p.threads())
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
	return !slices.ContainsFunc(try.Get(p.threads()), func(tid int) bool { return state(tid) != "T" }), nil
}

// state is what a thread does (proc_pid_stat(5)): T stopped, t stopped by a debugger; "" if it has ended.
func state(tid int) string {
	if fields := statFields(tid); len(fields) > 0 {
		return fields[0]
	}
	return ""
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
		if state(tid) == "t" {
			return nil
		}
	}
	return fmt.Errorf("thread %d did not stop within a second", tid)
}

func (p *Process) threads() ([]int, error) { return numbersIn(fmt.Sprintf("/proc/%d/task", p.PID())) }
