package health

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"golang.org/x/sys/unix"

	"github.com/keepvip/keepvip/internal/base/lack"
	"github.com/keepvip/keepvip/internal/base/regular"
	"github.com/keepvip/keepvip/internal/config"
)

// processProber looks for a process by the name of its program.
type processProber struct {
	name string
	proc string // "/proc"
	last int    // the process that was found last; 0: none
	idle *idleWatch
	call patient[Result]
}

var _ watcher = (*processProber)(nil)

// Process makes the Prober of a process: healthy while one runs whose program has that name (the last element of its
// first argument, or what the kernel calls it). Its end is an event, and definite. Only processes of this PID namespace
// are seen. Without Watch its end is seen by the next probe. Where a number of processes or arguments are wanted, they
// are counted.
func Process(h config.ListedCheck) Prober {
	if h.Quorum == 0 && h.QuorumMax == config.MostProcesses && h.Arguments == nil {
		return newProcess(h)
	}
	return newProcesses(h)
}

func newProcess(h config.ListedCheck) *processProber {
	return &processProber{name: h.Process, proc: "/proc", idle: newIdleWatch(h.Watch)}
}

// Watch implements [watcher].
func (p *processProber) Watch(ctx context.Context, changed func()) (wait func()) {
	return p.idle.watch(ctx, changed)
}

// Probe implements [Prober]. The arguments of a process that hangs in the kernel cannot be read.
func (p *processProber) Probe(ctx context.Context) Result {
	r, err := p.call.do(ctx, func() Result { return p.look(ctx) })
	if err != nil {
		return Result{Outcome: Fail, Reason: "list the processes: " + err.Error()}
	}
	return r
}

// look asks the process that was found last first: to look through all of them is dear.
func (p *processProber) look(ctx context.Context) Result {
	if runs, err := p.is(p.last); !runs {
		pid := 0
		if lack.Of(err) == "" {
			pid, err = p.find(ctx)
		}
		if lacks := lack.Of(err); lacks != "" {
			return unasked(lacks, err)
		}
		if err != nil {
			return Result{Outcome: Fail, Reason: brief(err)}
		}
		if p.last = pid; pid == 0 {
			p.idle.drop(false)
			return Result{
				Outcome: Down, Reason: "no process " + p.name,
				Hint: podHint,
			}
		}
	}
	p.keepHandle()
	return Result{Outcome: Pass, Reason: fmt.Sprintf("process %d", p.last)}
}

// keepHandle keeps a handle on the process, where the kernel gives one.
func (p *processProber) keepHandle() {
	now := time.Now()
	if !p.idle.wanted(now) {
		return
	}
	if f, err := openProcess(p.last); err == nil {
		p.idle.adopt(f, now)
	}
}

func (p *processProber) find(ctx context.Context) (pid int, err error) {
	dir, err := os.Open(p.proc)
	if err != nil {
		return 0, fmt.Errorf("list the processes: %w", regular.Plain(err))
	}
	defer dir.Close()
	names, err := dir.Readdirnames(-1)
	if err != nil {
		return 0, fmt.Errorf("list the processes: %w", regular.Plain(err))
	}
	for _, name := range names {
		pid, err := strconv.Atoi(name)
		if err != nil {
			continue
		}
		runs, err := p.is(pid)
		if runs || lack.Of(err) != "" {
			return pid, err
		}
		if ctx.Err() != nil {
			return 0, fmt.Errorf("list the processes: %w", ctx.Err())
		}
	}
	return 0, nil
}

// is tells whether a process runs and has the name, or why that cannot be read. A kernel thread has no arguments, nor has a process that has
// ended and is not waited for. There is no process 0.
func (p *processProber) is(pid int) (bool, error) {
	if pid == 0 {
		return false, nil
	}
	dir := filepath.Join(p.proc, strconv.Itoa(pid))
	args, err := os.ReadFile(filepath.Join(dir, "cmdline"))
	if err != nil || len(args) == 0 {
		return false, err
	}
	first, _, _ := bytes.Cut(args, []byte{0})
	if filepath.Base(string(first)) == p.name {
		return true, nil
	}
	name, err := kernelName(dir)
	return err == nil && name == shortName(p.name), err
}

// kernelName is what the kernel calls the process of a directory.
func kernelName(dir string) (string, error) {
	comm, err := os.ReadFile(filepath.Join(dir, "comm"))
	return string(bytes.TrimSuffix(comm, []byte("\n"))), err
}

// shortName is a name as the kernel has it.
func shortName(name string) string {
	const kernelMost = 15 // TASK_COMM_LEN without its NUL
	return name[:min(len(name), kernelMost)]
}

// podHint is for who sees no process.
const podHint = "a pod sees only its own processes, unless it has hostPID"

// processHandle becomes readable when its process ends.
type processHandle struct{ *os.File }

func openProcess(pid int) (*processHandle, error) {
	fd, err := unix.PidfdOpen(pid, unix.PIDFD_NONBLOCK)
	if err != nil {
		return nil, fmt.Errorf("open a handle on process %d: %w", pid, err)
	}
	return &processHandle{os.NewFile(uintptr(fd), "pidfd")}, nil
}

// Read waits for the end of the process, or of the handle; there is nothing to read.
func (h *processHandle) Read([]byte) (int, error) {
	raw, err := h.SyscallConn()
	if err != nil {
		return 0, err
	}
	return 0, raw.Read(func(fd uintptr) bool {
		n, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, 0)
		return n != 0 || err != nil
	})
}
