package control

import (
	"bufio"
	"context"
	"net/http"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

const starvedChild = "KEEPVIP_TEST_STARVED"

// A process that has no descriptor left answers its operator all the same, again and again.
func TestServerAnswersWithoutDescriptors(t *testing.T) {
	if path := os.Getenv(starvedChild); path != "" {
		serveStarved(t, path)
		return
	}
	path := socketPath(t)
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, os.Args[0], "-test.run=^TestServerAnswersWithoutDescriptors$")
	cmd.Env = append(os.Environ(), starvedChild+"="+path)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	in, err := cmd.StdinPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	line, err := bufio.NewReader(out).ReadString('\n')
	require.NoError(t, err)
	require.Equal(t, "starved\n", line)
	for range 10 {
		var status any
		require.NoError(t, NewClient(path).Status(ctx, &status))
		assert.NotNil(t, status)
	}
	require.NoError(t, in.Close())
	_ = cmd.Wait() // what the test's own end takes is not there any more
}

func serveStarved(t *testing.T, path string) {
	s, err := OpenStatus(path, func() any { return http.StatusOK })
	require.NoError(t, err)
	go func() { _ = s.Serve(t.Context()) }()
	require.NoError(t, unix.Setrlimit(unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: 64, Max: 64}))
	for err == nil {
		_, err = unix.Open(os.DevNull, unix.O_RDONLY, 0)
	}
	require.ErrorIs(t, err, unix.EMFILE)
	_, _ = os.Stdout.WriteString("starved\n")
	var b [1]byte
	_, _ = os.Stdin.Read(b[:]) // until the parent has asked
}
