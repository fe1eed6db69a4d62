package lab

import (
	"os/exec"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// Of two programs that spin on one processor each waits for the other, and one that is stopped waits for nothing: that is no want of a processor.
func TestProcessThatWaitsForAProcessorIsSeen(t *testing.T) {
	start := func() int {
		cmd := exec.Command("sh", "-c", "while :; do :; done")
		require.NoError(t, cmd.Start())
		t.Cleanup(func() { _, _ = cmd.Process.Kill(), cmd.Wait() })
		var first unix.CPUSet
		require.NoError(t, unix.SchedGetaffinity(0, &first))
		for cpu, found := 0, false; cpu < 1024; cpu++ {
			if found {
				first.Clear(cpu)
			}
			found = found || first.IsSet(cpu)
		}
		require.NoError(t, unix.SchedSetaffinity(cmd.Process.Pid, &first))
		return cmd.Process.Pid
	}
	began := time.Now()
	watch := func(pids ...int) *delayWatch {
		w := &delayWatch{now: func() time.Duration { return time.Since(began) }, pids: func() []int { return pids }}
		w.look()
		return w
	}
	one, other := start(), start()
	both := watch(one, other)
	for len(both.waited) == 0 { // however long that takes
		time.Sleep(delayEvery)
		both.look()
	}
	for _, s := range both.waited {
		assert.Greater(t, s.Length, starvedLimit)
	}

	require.NoError(t, unix.Kill(one, unix.SIGSTOP))
	for state := ""; state != "T"; time.Sleep(time.Millisecond) {
		var err error
		state, err = stateOf(one, one)
		require.NoError(t, err)
	}
	stopped := watch(one)
	for range 5 {
		time.Sleep(delayEvery)
		stopped.look()
	}
	assert.Empty(t, stopped.waited)
	assert.Empty(t, delaysOf(-1))
}
