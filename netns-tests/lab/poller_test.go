package lab

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

func TestPollerForgetsASocketThatAProgramBeingStartedStillHas(t *testing.T) {
	p := must(newPoller())(t)
	defer p.close()
	pair := must(unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0))(t)
	require.NoError(t, p.watch(pair[0]))
	started, err := unix.Dup(pair[0]) // as the child has it between fork and exec
	require.NoError(t, err)
	defer unix.Close(started)
	p.shut(pair[0])
	must(unix.Write(pair[1], []byte("x")))(t)
	defer unix.Close(pair[1])
	assert.Empty(t, p.wait(20*time.Millisecond))
}
