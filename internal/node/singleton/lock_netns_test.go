//go:build netns

package singleton

import (
	"context"
	"net"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/keepvip/keepvip/internal/base/netnstest"
)

func take(t *testing.T, socket string) *Lock {
	t.Helper()
	l, err := Take(socket)
	require.NoError(t, err)
	return l
}

func TestLockIsHeldByOneInANetworkNamespace(t *testing.T) {
	netnstest.New(t)
	l := take(t, "/run/one.sock")
	assert.Empty(t, l.Doubt)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- l.Serve(ctx) }()

	_, err := Take("/run/two.sock")
	var running *RunningError
	require.ErrorAs(t, err, &running)
	assert.Equal(t, RunningError{PID: os.Getpid(), Socket: "/run/one.sock"}, *running)
	cancel()
	require.NoError(t, <-ended)
	require.NoError(t, l.Close())
	require.NoError(t, take(t, "/run/two.sock").Close())
}

func TestLockIsNotSharedByNetworkNamespaces(t *testing.T) {
	netnstest.New(t)
	defer take(t, "/run/one.sock").Close()
	netnstest.New(t)
	require.NoError(t, take(t, "/run/one.sock").Close())
}

func TestLockWaitsForTheEndOfAnother(t *testing.T) {
	netnstest.New(t)
	first := take(t, "/run/one.sock")
	seen := 0
	l, err := Wait(t.Context(), "/run/two.sock", time.Minute, func(*RunningError) {
		seen++
		require.NoError(t, first.Close())
	})
	require.NoError(t, err)
	assert.Equal(t, 1, seen)
	defer l.Close()
	_, err = Wait(t.Context(), "/run/three.sock", 100*time.Millisecond, nil)
	assert.ErrorContains(t, err, "another keepvip runs in this network namespace")
}

// asNobody makes what only this thread does that of an unprivileged user.
func asNobody(t *testing.T, f func()) {
	t.Helper()
	_, _, e := unix.RawSyscall(unix.SYS_SETRESUID, ^uintptr(0), 65534, ^uintptr(0))
	require.Zero(t, e)
	f()
	_, _, e = unix.RawSyscall(unix.SYS_SETRESUID, ^uintptr(0), 0, ^uintptr(0))
	require.Zero(t, e)
}

func TestLockIsNotKeptAwayByAnUnprivilegedProcess(t *testing.T) {
	for _, tt := range []struct {
		name  string
		squat func() (int, error) // a socket with the name
		want  string
	}{
		{"that listens", func() (int, error) { return bound(true) }, "held by user 65534"},
		{"that only binds", func() (int, error) { return bound(false) }, "does not answer"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			netnstest.New(t)
			var fd int
			var err error
			asNobody(t, func() { fd, err = tt.squat() })
			require.NoError(t, err)
			defer unix.Close(fd)
			l := take(t, "/run/one.sock")
			assert.Contains(t, l.Doubt, tt.want)
			_, err = Take("/run/two.sock")
			var running *RunningError
			require.ErrorAs(t, err, &running, "there is one still")
			require.NoError(t, l.Close())
		})
	}
}

func bound(listen bool) (int, error) {
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM, 0)
	if err != nil {
		return 0, err
	}
	if err := unix.Bind(fd, &unix.SockaddrUnix{Name: name}); err != nil || !listen {
		return fd, err
	}
	return fd, unix.Listen(fd, 1)
}

func TestLockDoesWithoutAGroupThatAnotherProgramHas(t *testing.T) {
	netnstest.New(t)
	fd, err := takeGroup()
	require.NoError(t, err)
	defer unix.Close(fd)
	l := take(t, "/run/one.sock")
	defer l.Close()
	assert.Contains(t, l.Doubt, "fanout group 19286 is another program's")
	_, err = Take("/run/two.sock")
	assert.ErrorContains(t, err, "another keepvip runs")
}

// Two processes that pick the same protocol would be members of one group otherwise.
func TestLockGroupHasOneMember(t *testing.T) {
	netnstest.New(t)
	const one, other = 0xf383, 0x8393
	fd, err := joinGroup(one)
	require.NoError(t, err)
	for _, protocol := range []int{one, other} {
		_, err = joinGroup(protocol)
		assert.ErrorIs(t, err, errGroupTaken)
	}
	require.NoError(t, unix.Close(fd))
	fd, err = joinGroup(other)
	require.NoError(t, err, "it is free again")
	require.NoError(t, unix.Close(fd))
}

func TestServeIsNotHeldUpByWhoDoesNotRead(t *testing.T) {
	netnstest.New(t)
	l := take(t, "/run/one.sock")
	defer l.Close()
	for range 5 {
		c, err := net.Dial("unix", name)
		require.NoError(t, err)
		defer c.Close()
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- l.Serve(ctx) }()
	_, err := Take("")
	var running *RunningError
	require.ErrorAs(t, err, &running)
	assert.Equal(t, "/run/one.sock", running.Socket)
	cancel()
	require.NoError(t, <-ended)
}
