package program

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/keepvip/keepvip/internal/base/regular"
)

// ErrNotStarted wraps the reason why a program did not run at all.
var ErrNotStarted = errors.New("not started")

// runSandboxed runs the program from a thread of its own, which has given up every privilege but that of becoming the program's
// user, and is thrown away after it: a capability that systemd made ambient does not reach the program. The program's process
// becomes the user, the thread never does: a user may signal every thread of its own, and a signal to one thread ends the whole
// of this process. It closes input and output, and returns when the program and its process group have ended; the error is ctx's when they
// had to be killed.
func runSandboxed(
	ctx context.Context, command []string, as syscall.Credential, input, output *os.File,
) (status unix.WaitStatus, err error) {
	defer input.Close()
	defer output.Close()
	done := make(chan struct{})
	go func() {
		defer close(done)
		onThrowawayThread(func() { status, err = sandboxed(ctx, command, as, input, output) })
	}()
	<-done
	return status, err
}

// onThrowawayThread runs f on a thread that ends with it. That must not be the process's first one, which cannot end and
// whose capabilities are what others see of the process.
func onThrowawayThread(f func()) {
	runtime.LockOSThread() // and never unlocked: the thread ends with its goroutine
	if unix.Gettid() != unix.Getpid() {
		f()
		return
	}
	done := make(chan struct{})
	go func() { // surely on another thread: this one is taken
		defer close(done)
		runtime.LockOSThread()
		f()
	}()
	<-done
	runtime.UnlockOSThread()
}

func sandboxed(ctx context.Context, command []string, as syscall.Credential, input, output *os.File) (unix.WaitStatus, error) {
	if err := ordinary(); err != nil {
		return 0, fmt.Errorf("%w: %w", ErrNotStarted, err)
	}
	user, err := userOf(as)
	if err != nil {
		return 0, fmt.Errorf("%w as user %d: %w", ErrNotStarted, as.Uid, err)
	}
	pid, err := start(command, user, input, output)
	_ = output.Close() // the program has it
	if err != nil {
		return 0, fmt.Errorf("%w: %s: %w", ErrNotStarted, command[0], regular.Plain(err))
	}
	ended := make(chan error, 1)
	// Without reaping it: its number stays its own until the whole group is killed.
	go func() { ended <- awaitExit(pid) }()
	var killed error
	select {
	case err = <-ended:
	case <-ctx.Done():
		killed = ctx.Err()
		killTree(pid)
		err = <-ended
	}
	_ = unix.Kill(-pid, unix.SIGKILL) // what it has left in the background
	var status unix.WaitStatus
	for {
		if _, reap := unix.Wait4(pid, &status, 0, nil); reap != unix.EINTR {
			return status, errors.Join(killed, err, reap)
		}
	}
}

func awaitExit(pid int) error {
	for {
		if err := unix.Waitid(unix.P_PID, pid, nil, unix.WEXITED|unix.WNOWAIT, nil); err != unix.EINTR {
			return err
		}
	}
}

// ordinary schedules the calling thread, and so the program, like any other process, whatever keepvip has asked for itself.
func ordinary() error {
	attr, err := unix.SchedGetAttr(0, 0)
	if err != nil {
		return fmt.Errorf("sched_getattr: %w", err)
	}
	if attr.Policy == unix.SCHED_NORMAL {
		return nil
	}
	if err := unix.SchedSetAttr(0, &unix.SchedAttr{Size: unix.SizeofSchedAttr, Policy: unix.SCHED_NORMAL}, 0); err != nil {
		return fmt.Errorf("sched_setattr: %w", err)
	}
	return nil
}

// start starts the program with nothing but its input, its output and a small environment. A nil user is ours.
func start(command []string, user *syscall.Credential, input, output *os.File) (pid int, err error) {
	p, err := os.StartProcess(command[0], command, &os.ProcAttr{
		Dir: "/", Env: []string{"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "LANG=C"},
		Files: []*os.File{input, output, output},
		// The thread outlives the program, unless keepvip itself is killed.
		Sys: &syscall.SysProcAttr{Setpgid: true, Pdeathsig: unix.SIGKILL, Credential: user},
	})
	if err != nil {
		return 0, err
	}
	defer func() { _ = p.Release() }() // reaped by number
	return p.Pid, nil
}

// switching are the capabilities for which a program of another user takes: to become that user, and to kill what it started.
var switching = []struct {
	bit  uint
	name string
}{
	{unix.CAP_SETUID, "SETUID"},
	{unix.CAP_SETGID, "SETGID"},
	{unix.CAP_KILL, "KILL"},
}

// userOf makes the calling thread, and no other, one whose programs have no capability once they are that user, and no
// way to gain any. Root keeps what this process has: it is root for that. It returns the user, or nil if it is ours.
func userOf(as syscall.Credential) (*syscall.Credential, error) {
	var user *syscall.Credential
	var keep uint32
	if unix.Getuid() != int(as.Uid) || unix.Geteuid() != int(as.Uid) || unix.Getgid() != int(as.Gid) {
		if missing := CannotSwitchUser(); missing != nil {
			return nil, fmt.Errorf("%w, or a keepvip that runs as that user", missing)
		}
		user = &as
		for _, c := range switching {
			keep |= 1 << c.bit
		}
	}
	if as.Uid == 0 {
		return user, nil
	}
	if err := unix.Prctl(unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0); err != nil {
		return nil, fmt.Errorf("drop the ambient capabilities: %w", err)
	}
	// Nothing is inheritable or ambient: whatever the user, the program itself begins without.
	kept := [2]unix.CapUserData{{Effective: keep, Permitted: keep}}
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	if err := unix.Capset(&header, &kept[0]); err != nil {
		return nil, fmt.Errorf("drop the capabilities: %w", err)
	}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return nil, fmt.Errorf("set no_new_privs: %w", err)
	}
	return user, nil
}

// CannotSwitchUser names the capabilities that this process lacks to run a program as another user; nil: none.
func CannotSwitchUser() error {
	var have [2]unix.CapUserData
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	if err := unix.Capget(&header, &have[0]); err != nil {
		return fmt.Errorf("read the capabilities: %w", err)
	}
	var missing []string
	for _, c := range switching {
		if have[0].Effective&(1<<c.bit) == 0 {
			missing = append(missing, c.name)
		}
	}
	if len(missing) == 0 {
		return nil
	}
	return fmt.Errorf("it needs the capabilities %s", strings.Join(missing, ", "))
}
