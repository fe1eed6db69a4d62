package health

import (
	"context"
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"github.com/keepvip/keepvip/internal/base/lack"
	"github.com/keepvip/keepvip/internal/config"
)

// processProber looks for a process by the name of its program.
type processProber struct {
	listing
	last int // the process that was found last; 0: none
	idle *idleWatch
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
	return &processProber{listing: listing{check: h, proc: "/proc"}, idle: newIdleWatch(h.Watch)}
}

// Watch implements [watcher].
func (p *processProber) Watch(ctx context.Context, changed func()) (wait func()) {
	return p.idle.watch(ctx, changed)
}

// Probe implements [Prober].
func (p *processProber) Probe(ctx context.Context) Result { return p.patiently(ctx, p.look) }

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
			return Result{Outcome: Down, Reason: "no process " + p.check.Process, Hint: podHint}
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
	failed := p.each(ctx, func(n int) (done bool) {
		var runs bool
		if runs, err = p.is(n); runs || lack.Of(err) != "" {
			pid = n
			return true
		}
		return false
	})
	if failed != nil {
		return 0, fmt.Errorf("list the processes: %w", failed)
	}
	if pid == 0 {
		return 0, nil // what could not be read of a process is of one that has ended
	}
	return pid, err
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
