// Command standstill runs another command on a machine that stands still again and again, as one does whose hypervisor gives its processors to
// others. It ends with the exit status of that command. It needs root.
package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/keepvip/keepvip/netns-tests/try"
)

const usage = "usage: standstill [flags] COMMAND [ARGUMENT ...]"

func main() {
	most := flag.Int("quarters", 6, fmt.Sprintf("a standstill takes up to so many quarters of a second (at most %d)", maxQuarters))
	every := flag.Duration("every", 5*time.Second, "from the end of one to the next, on average")
	seed := flag.Uint64("seed", uint64(time.Now().UnixNano()), "of the lengths and of the times between them")
	flag.Parse()
	if flag.NArg() == 0 || *most < 1 || *most > maxQuarters || *every <= 0 {
		fmt.Fprintln(os.Stderr, usage)
		os.Exit(2)
	}
	err := run(flag.Args(), *most, *every, *seed)
	var ended *exec.ExitError
	switch {
	case errors.As(err, &ended):
		os.Exit(max(ended.ExitCode(), 1))
	case err != nil:
		fmt.Fprintln(os.Stderr, "standstill:", err)
		os.Exit(1)
	}
}

func run(args []string, most int, every time.Duration, seed uint64) (err error) {
	defer try.Catch(&err)
	programs := make([]int, most)
	for i := range programs {
		programs[i] = try.Get(load(i + 1))
		defer unix.Close(programs[i])
	}
	if took := try.Get(standStill(programs[0])); took < quarter/2 {
		return fmt.Errorf("a standstill of %v took %v: the time of a BPF loop is bounded since Linux 6.15", quarter, took)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, unix.SIGTERM)
	defer stop()
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	try.Do(cmd.Start())
	ctx, ended := context.WithCancel(ctx)
	var wait sync.WaitGroup
	var broken error
	wait.Go(func() { broken = again(ctx, programs, every, rand.New(rand.NewPCG(seed, 0))) })
	err = cmd.Wait()
	ended()
	wait.Wait()
	return cmp.Or(broken, err) // what ran without standstills has shown nothing
}

// again has the machine stand still, again and again, until ctx ends, and says how often and for how long it did.
func again(ctx context.Context, programs []int, every time.Duration, random *rand.Rand) error {
	var sum, longest time.Duration
	n := 0
	for {
		select {
		case <-ctx.Done():
			fmt.Fprintf(os.Stderr, "standstill: the machine stood still %d times, for %v in all, for %v at most\n", n, sum.Round(time.Millisecond), longest.Round(time.Millisecond))
			return nil
		case <-time.After(every/2 + time.Duration(random.Int64N(int64(every)))):
		}
		took, err := standStill(programs[random.IntN(len(programs))])
		if err != nil {
			return err
		}
		n, sum, longest = n+1, sum+took, max(longest, took)
	}
}

// standStill runs a program on all processors at the same time, and returns how long that took.
func standStill(program int) (took time.Duration, err error) {
	var (
		wait  sync.WaitGroup
		ready sync.WaitGroup
		errs  = make([]error, runtime.NumCPU())
		begin = make(chan struct{})
	)
	ready.Add(len(errs))
	for cpu := range errs {
		wait.Go(func() {
			runtime.LockOSThread() // it ends with the goroutine
			err := pinned(cpu)
			ready.Done()
			if <-begin; err == nil {
				err = runOnce(program)
			}
			errs[cpu] = err
		})
	}
	ready.Wait()
	began := time.Now()
	close(begin)
	wait.Wait()
	return time.Since(began), errors.Join(errs...)
}

// pinned makes this thread one that only that processor runs, and before all others.
func pinned(cpu int) error {
	var set unix.CPUSet
	set.Set(cpu)
	if err := unix.SchedSetaffinity(0, &set); err != nil {
		return fmt.Errorf("processor %d: %w", cpu, err)
	}
	if err := unix.SchedSetAttr(0, &unix.SchedAttr{Size: unix.SizeofSchedAttr, Policy: unix.SCHED_FIFO, Priority: 99}, 0); err != nil {
		return fmt.Errorf("real-time priority: %w", err)
	}
	return nil
}
