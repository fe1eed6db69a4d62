package lab

import (
	"context"
	"fmt"
	"io"
	"maps"
	"os"
	"os/signal"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/keepvip/keepvip/netns-tests/try"
)

// measuringThreads is more than the threads of all labs that are open at a time: each has about eight.
const measuringThreads = 128

// Host is the machine that labs are opened on. It is safe for concurrent use.
type Host struct {
	less   bool // see MeasureLess
	runs   atomic.Int32
	reaped func() error // starts the reaper, once
	pipe   io.Closer    // its input, which ends with this process
	ending atomic.Bool  // a signal ends this process
	mu     sync.Mutex
	labs   map[*Lab]struct{}
}

// Enter prepares this process for labs and must be called first in main or
// TestMain. In a helper process that a lab started it never returns.
//
// Threads that measure are SCHED_RR where that is allowed; what else this process
// does is ordinary, so that it does not keep the programs under test of another
// lab from running. All labs are closed on SIGINT or SIGTERM.
func Enter() *Host {
	if role := os.Getenv(roleEnv); role != "" {
		if err := helpers()[role](); err != nil {
			fmt.Fprintf(os.Stderr, "lab: %s: %v\n", role, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	// A thread that returns from a system call needs a free P at once; with as
	// many Ps as CPUs it would wait behind whatever else the labs are doing.
	if runtime.GOMAXPROCS(0) < measuringThreads {
		runtime.GOMAXPROCS(measuringThreads)
	}
	debug.SetGCPercent(-1) // see collect
	debug.SetMemoryLimit(memoryLimit)
	go collect(context.Background()) // as long as this process
	h := &Host{labs: make(map[*Lab]struct{})}
	h.reaped = sync.OnceValue(h.reap)
	_ = monitorInRealtime() // where that is allowed
	go h.closeOnSignal()
	return h
}

// MeasureLess has all measurements from now on probe, ask and request a fifth as often as they would, and not watch how late this machine is: for
// tests, which run side by side and judge no time. What each lab costs is mostly that.
func (h *Host) MeasureLess() { h.less = true }

func (h *Host) closeOnSignal() {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, unix.SIGINT, unix.SIGTERM, unix.SIGHUP)
	got := <-signals
	h.ending.Store(true)
	fmt.Fprintf(os.Stderr, "\n%v: removing the lab\n", got)
	h.closeLabs()
	os.Exit(128 + int(got.(syscall.Signal)))
}

// Close removes every lab that is still open. While a signal ends the process
// it does not return, so that its caller cannot exit in the middle of that.
func (h *Host) Close() {
	if h.ending.Load() {
		select {}
	}
	h.closeLabs()
}

func (h *Host) closeLabs() {
	h.mu.Lock()
	labs := slices.Collect(maps.Keys(h.labs))
	h.mu.Unlock()
	for _, l := range labs {
		l.Close()
	}
}

// reap starts the process that sweeps the runs of this one when this one is gone.
func (h *Host) reap() (err error) {
	defer try.Say(&err, "lab: start the reaper")
	cmd := helper(roleReaper, os.Getpid())
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	h.pipe = try.Get(cmd.StdinPipe())
	return cmd.Start()
}

// runReaper is that process.
func runReaper(pid int) error {
	signal.Ignore(unix.SIGINT, unix.SIGTERM, unix.SIGHUP)
	_, _ = io.Copy(io.Discard, os.Stdin)
	entries, _ := os.ReadDir(runRoot)
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), runsOf(pid)) {
			sweepRun(e.Name())
		}
	}
	return nil
}
