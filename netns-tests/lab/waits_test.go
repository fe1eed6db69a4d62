package lab

import (
	"os/exec"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

func TestWaitedIsTheSecondFigureOfSchedstat(t *testing.T) {
	got, ok := waitedFor("123456 7000000 89\n")
	assert.True(t, ok)
	assert.Equal(t, 7*time.Millisecond, got)
	for _, text := range []string{"", "1", "1 x 3"} {
		_, ok := waitedFor(text)
		assert.False(t, ok, text)
	}
}

// A program that others keep from the only processor it may use waits, and what it waits for is room.
func TestThreadThatOthersKeepFromTheProcessorWaits(t *testing.T) {
	var allowed, one unix.CPUSet
	require.NoError(t, unix.SchedGetaffinity(0, &allowed))
	for cpu := range 1024 {
		if allowed.IsSet(cpu) {
			one.Set(cpu)
			break
		}
	}
	spin := func(policy int) int {
		cmd := exec.Command("sh", "-c", "while :; do :; done")
		require.NoError(t, cmd.Start())
		t.Cleanup(func() {
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
		})
		require.NoError(t, unix.SchedSetaffinity(cmd.Process.Pid, &one))
		require.NoError(t, setScheduler(cmd.Process.Pid, policy, 0))
		return cmd.Process.Pid
	}
	waiting := spin(unix.SCHED_IDLE)
	w := waits{threads: map[string]*waitingThread{}}
	defer w.close()
	w.find(waiting)
	require.Len(t, w.threads, 1)
	began := time.Now()
	for range 4 {
		spin(unix.SCHED_NORMAL)
	}
	require.Eventually(t, func() bool {
		w.look(time.Since(began))
		return len(w.found) > 0
	}, time.Minute, waitsEvery)
	s := w.found[0]
	assert.Greater(t, s.Length, starvedLimit)
	r := Report{Waited: w.found[:1]}
	assert.Equal(t, s.Length, r.Stood(s.At, s.At+s.Length))
}
