package program

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// script is a program that any user may run.
func script(t *testing.T, text string) []string {
	t.Helper()
	dir, err := os.MkdirTemp("/tmp", "keepvip-program-") // t.TempDir is its owner's alone
	require.NoError(t, err)
	t.Cleanup(func() { os.RemoveAll(dir) })
	require.NoError(t, os.Chmod(dir, 0o755))
	path := filepath.Join(dir, "program")
	require.NoError(t, os.WriteFile(path, []byte("#!/bin/sh\n"+text+"\n"), 0o755))
	return []string{path}
}

func run(t *testing.T, command []string, as syscall.Credential, input []byte) End {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	return Run(ctx, command, as, input)
}

// own is the user that the test is.
func own() syscall.Credential {
	return syscall.Credential{Uid: uint32(os.Getuid()), Gid: uint32(os.Getgid())}
}

func TestInput(t *testing.T) {
	cat, quits := script(t, "cat"), script(t, "exit 0")
	end := run(t, cat, own(), nil)
	assert.Empty(t, end.Output, "it is at its end")
	input := bytes.Repeat([]byte("x"), MaxInput)
	end = run(t, cat, own(), input)
	assert.True(t, end.OK(), end.Reason())
	assert.Equal(t, string(input), string(end.Output))
	assert.True(t, run(t, quits, own(), input).OK(), "nobody has to read it")
	assert.ErrorIs(t, run(t, quits, own(), append(input, 'x')).Err, ErrNotStarted)
}

// However late this process comes to read, and whoever has the pipe open still.
func TestOutputOfAProgramThatHasEndedIsRead(t *testing.T) {
	read, write, err := os.Pipe()
	require.NoError(t, err)
	defer read.Close()
	defer write.Close()
	require.NoError(t, read.SetReadDeadline(time.Unix(1, 0)))
	assert.Equal(t, "begin", string(rest(read, []byte("begin"))))
	_, err = write.WriteString(", end")
	require.NoError(t, err)
	assert.Equal(t, "begin, end", string(rest(read, []byte("begin"))))
	_, err = write.Write(bytes.Repeat([]byte("x"), 60_000))
	require.NoError(t, err)
	assert.Greater(t, len(rest(read, bytes.Repeat([]byte("x"), 8_000))), maxOutput)
}

// What hangs in a session of its own would be there once more with each run that is late.
func TestKilledProgramLeavesNothingThatDescendsFromIt(t *testing.T) {
	pids := filepath.Join(t.TempDir(), "pids")
	command := script(t, "setsid sh -c 'setsid sh -c \"echo \\$PPID \\$\\$ > "+pids+"; sleep 3600\"; exit 1'; exit 1")
	ctx, kill := context.WithCancel(t.Context())
	ended := make(chan End, 1)
	go func() { ended <- Run(ctx, command, own(), nil) }()
	var text string
	require.Eventually(t, func() bool {
		b, err := os.ReadFile(pids)
		text = string(b)
		return err == nil && strings.HasSuffix(text, "\n")
	}, 20*time.Second, time.Millisecond)
	kill()
	assert.ErrorIs(t, (<-ended).Err, context.Canceled)
	for _, pid := range strings.Fields(text) {
		assert.Eventually(t, func() bool {
			line, err := os.ReadFile("/proc/" + pid + "/cmdline")
			return err != nil || len(line) == 0
		}, 20*time.Second, time.Millisecond, "process %s", pid)
	}
}

func TestRootKeepsTheCapabilities(t *testing.T) {
	if os.Getuid() != 0 {
		t.Log("not root")
		return
	}
	capabilities := func(uid uint32) (out []string) {
		command := script(t, "grep -E '^(CapEff|Groups|Uid|NoNewPrivs)' /proc/self/status")
		end := run(t, command, syscall.Credential{Uid: uid, Gid: uid}, nil)
		require.True(t, end.OK(), end.Reason())
		for line := range strings.Lines(string(end.Output)) {
			out = append(out, strings.Join(strings.Fields(line), " "))
		}
		return out
	}
	mine, err := os.ReadFile("/proc/thread-self/status")
	require.NoError(t, err)
	_, rest, _ := strings.Cut(string(mine), "\nCapEff:\t")
	effective, _, _ := strings.Cut(rest, "\n")
	assert.Contains(t, capabilities(0), "CapEff: "+effective)
	assert.Subset(t, capabilities(65534), []string{"CapEff: 0000000000000000", "Uid: 65534 65534 65534 65534", "Groups:", "NoNewPrivs: 1"})
}

// keepvip's own schedule is none of a program's business: one that spins must not keep the host from everything else.
func TestProgramIsScheduledLikeAnyOther(t *testing.T) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread() // and never unlocked: the thread ends with its goroutine
		policy := func() uint32 {
			attr, err := unix.SchedGetAttr(0, 0)
			if !assert.NoError(t, err) {
				return 0
			}
			return attr.Policy
		}
		err := unix.SchedSetAttr(0, &unix.SchedAttr{Size: unix.SizeofSchedAttr, Policy: unix.SCHED_RR, Priority: 1}, 0)
		if err != nil {
			t.Log("no real-time here:", err)
			return
		}
		assert.EqualValues(t, unix.SCHED_RR, policy())
		assert.NoError(t, ordinary())
		assert.EqualValues(t, unix.SCHED_NORMAL, policy())
	}()
	<-done
}
