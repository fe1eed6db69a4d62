package health

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"syscall"

	"golang.org/x/sys/unix"
)

// errNotStarted wraps the reason why a program did not run at all.
var errNotStarted = errors.New("not started")

// runConfined runs the program on a thread of its own, which has given up every privilege before it starts the program and is
// thrown away after it: a capability that systemd made ambient, or that an equal user id would keep, does not reach the program.
// The thread also kills: as the program's user it may, without CAP_KILL. It closes output, and returns when the program and its
// process group have ended; the error is ctx's when they had to be killed.
func runConfined(ctx context.Context, cfg ExecConfig, output *os.File) (status unix.WaitStatus, err error) {
	defer output.Close()
	done := make(chan struct{})
	go func() {
		defer close(done)
		onThrowawayThread(func() { status, err = confined(ctx, cfg, output) })
	}()
	<-done
	return status, err
}

// onThrowawayThread runs f on a thread that ends with it. That must not be the process's first one, which cannot end and
// whose user is what others see of the process.
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

func confined(ctx context.Context, cfg ExecConfig, output *os.File) (unix.WaitStatus, error) {
	if err := giveUpPrivileges(cfg.UID, cfg.GID); err != nil {
		return 0, fmt.Errorf("%w as user %d: %w", errNotStarted, cfg.UID, err)
	}
	pid, err := start(cfg.Command, output)
	_ = output.Close() // the program has it
	if err != nil {
		return 0, fmt.Errorf("%w: %s: %w", errNotStarted, cfg.Command[0], plain(err))
	}
	ended := make(chan error, 1)
	// Without reaping it: its number stays its own until the whole group is killed.
	go func() { ended <- awaitExit(pid) }()
	var killed error
	select {
	case err = <-ended:
	case <-ctx.Done():
		killed = ctx.Err()
		_ = unix.Kill(-pid, unix.SIGKILL) // it has one member at least, of our user
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

// start starts the program with nothing but its output and a small environment.
func start(command []string, output *os.File) (pid int, err error) {
	null, err := os.Open(os.DevNull)
	if err != nil {
		return 0, err
	}
	defer null.Close()
	p, err := os.StartProcess(command[0], command, &os.ProcAttr{
		Dir: "/", Env: []string{"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "LANG=C"},
		Files: []*os.File{null, output, output},
		// The thread outlives the program, unless keepvip itself is killed.
		Sys: &syscall.SysProcAttr{Setpgid: true, Pdeathsig: unix.SIGKILL},
	})
	if err != nil {
		return 0, err
	}
	defer func() { _ = p.Release() }() // reaped by number
	return p.Pid, nil
}

// giveUpPrivileges makes the calling thread, and no other, an unprivileged one for good. The system calls are raw because
// package syscall changes all threads.
func giveUpPrivileges(uid, gid uint32) error {
	if err := becomeUser(uid, gid); err != nil {
		return fmt.Errorf("%w (it needs the capabilities SETUID and SETGID, or a keepvip that runs as that user)", err)
	}
	if err := unix.Prctl(unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0); err != nil {
		return fmt.Errorf("drop the ambient capabilities: %w", err)
	}
	var none [2]unix.CapUserData // effective, permitted, inheritable
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	if err := unix.Capset(&header, &none[0]); err != nil {
		return fmt.Errorf("drop the capabilities: %w", err)
	}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("set no_new_privs: %w", err)
	}
	return nil
}

func becomeUser(uid, gid uint32) error {
	if unix.Getuid() == int(uid) && unix.Geteuid() == int(uid) && unix.Getgid() == int(gid) {
		return nil
	}
	u, g := uintptr(uid), uintptr(gid)
	for _, step := range []struct {
		name    string
		trap    uintptr
		a, b, c uintptr
	}{
		{"setgroups", unix.SYS_SETGROUPS, 0, 0, 0},
		{"setresgid", unix.SYS_SETRESGID, g, g, g},
		{"setresuid", unix.SYS_SETRESUID, u, u, u},
	} {
		if _, _, e := syscall.RawSyscall(step.trap, step.a, step.b, step.c); e != 0 {
			return fmt.Errorf("%s: %w", step.name, e)
		}
	}
	return nil
}
