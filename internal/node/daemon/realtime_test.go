package daemon

import (
	"os"
	"runtime"
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// SCHED_BATCH needs no privilege, and shows that every thread is reached, new ones too.
func TestScheduleAllReachesEveryThread(t *testing.T) {
	stop := make(chan struct{})
	for range 4 {
		started := make(chan struct{})
		go func() { runtime.LockOSThread(); close(started); <-stop }()
		<-started
	}
	require.NoError(t, scheduleAll(unix.SCHED_BATCH, 0))
	defer func() { close(stop); require.NoError(t, scheduleAll(unix.SCHED_NORMAL, 0)) }()
	entries, err := os.ReadDir(tasksDir)
	require.NoError(t, err)
	assert.GreaterOrEqual(t, len(entries), 5)
	for _, e := range entries {
		id, err := strconv.Atoi(e.Name())
		require.NoError(t, err)
		attr, err := unix.SchedGetAttr(id, 0)
		require.NoError(t, err)
		assert.Equal(t, uint32(unix.SCHED_BATCH), attr.Policy)
	}
	assert.Error(t, scheduleAll(unix.SCHED_RR, 1000), "no such priority")
}
