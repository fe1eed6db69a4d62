//go:build netns

package lab

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

func TestMeasuringThreadsAreOrdinaryWhileGarbageIsCollected(t *testing.T) {
	policy := func(tid int) uintptr {
		p, _, errno := unix.Syscall(unix.SYS_SCHED_GETSCHEDULER, uintptr(tid), 0, 0)
		assert.Zero(t, errno)
		return p &^ schedResetOnFork
	}
	measures, end := make(chan int), make(chan struct{})
	go func() {
		lockMeasuringThread()
		measures <- unix.Gettid()
		<-end
	}()
	defer close(end)
	monitor := must(monitorThread())(t)
	require.NoError(t, monitorInRealtime())
	for _, tid := range []int{<-measures, monitor} {
		assert.EqualValues(t, unix.SCHED_RR, policy(tid))
		withoutRealtime(func() { assert.EqualValues(t, unix.SCHED_NORMAL, policy(tid)) })
		assert.EqualValues(t, unix.SCHED_RR, policy(tid))
	}
}
