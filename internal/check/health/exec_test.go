package health

import (
	"context"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/keepvip/keepvip/internal/base/code"
	"github.com/keepvip/keepvip/internal/config"
)

// executable makes a program that the unprivileged user may run.
func executable(t *testing.T, text string) string {
	t.Helper()
	dir, err := os.MkdirTemp("/tmp", "keepvip-exec-") // t.TempDir is its owner's alone
	require.NoError(t, err)
	t.Cleanup(func() { os.RemoveAll(dir) })
	require.NoError(t, os.Chmod(dir, 0o755))
	path := filepath.Join(dir, "check")
	require.NoError(t, os.WriteFile(path, []byte("#!/bin/sh\n"+text+"\n"), 0o755))
	return path
}

// unprivileged is a user that this process can become.
func unprivileged() (uid, gid uint32) {
	if os.Getuid() != 0 {
		return uint32(os.Getuid()), uint32(os.Getgid())
	}
	return 65534, 65534
}

func execute(t *testing.T, command ...string) Result {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	return executeIn(t, ctx, command...)
}

// executeIn runs a program until the context ends.
func executeIn(t *testing.T, ctx context.Context, command ...string) Result {
	t.Helper()
	uid, gid := unprivileged()
	p, err := Exec(config.ListedCheck{Command: command, UID: uid, GID: gid, Timeout: patience})
	require.NoError(t, err)
	p.(*execProber).dying = patience
	return p.Probe(ctx)
}

const patience = 20 * time.Second

func TestExecStatus(t *testing.T) {
	noise := executable(t, "head -c 60000 /dev/zero | tr '\\0' x")
	tests := []struct {
		name    string
		command []string
		want    Result
	}{
		{"healthy", []string{executable(t, "exit 0")}, Result{Reason: "exit status 0"}},
		{"a bounded noise is no failure", []string{noise}, Result{Reason: "exit status 0"}},
		{"unhealthy, and says why", []string{executable(t, `echo; printf 'disk \033[31mfull\n' >&2; echo more; exit 3`)}, Result{Outcome: Fail, Reason: "exit status 3", Hint: "disk [31mfull"}},
		{"no shell takes the arguments apart", []string{executable(t, `test "$#" = 2 && test "$1" = 'a b; $HOME'`), "a b; $HOME", ""}, Result{Reason: "exit status 0"}},
		{"killed", []string{executable(t, "kill -9 $$")}, Result{Outcome: Fail, Reason: "killed by SIGKILL"}},
		{"nothing on standard input", []string{executable(t, "cat; exit $?")}, Result{Reason: "exit status 0"}},
		{"a small environment", []string{executable(t, `test -z "$KEEPVIP_TEST_SECRET" && test "$PWD" = /`)}, Result{Reason: "exit status 0"}},
	}
	t.Setenv("KEEPVIP_TEST_SECRET", "x")
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) { assert.Equal(t, tt.want, execute(t, tt.command...)) })
	}
}

func TestExecThatCannotRunFailsAndSaysWhy(t *testing.T) {
	missing := executable(t, "") + "-missing"
	r := execute(t, missing)
	assert.Equal(t, Fail, r.Outcome)
	assert.Equal(t, "not started: "+missing+": no such file or directory", r.Reason)
	plainText := executable(t, "")
	require.NoError(t, os.Chmod(plainText, 0o644))
	assert.Equal(t, "not started: "+plainText+": permission denied", execute(t, plainText).Reason)
	if os.Getuid() != 0 {
		p, err := Exec(config.ListedCheck{Command: []string{"/bin/true"}, UID: uint32(os.Getuid()) + 1, GID: 1})
		require.NoError(t, err)
		assert.Contains(t, look(t, p).Reason, "capabilities SETUID, SETGID, KILL")
	}
}

func TestExecHasNoPrivileges(t *testing.T) {
	uid, gid := unprivileged()
	out := filepath.Join("/tmp", "keepvip-exec-status-"+strconv.Itoa(os.Getpid()))
	t.Cleanup(func() { os.Remove(out) })
	require.Equal(t, Pass, execute(t, executable(t, "cat /proc/self/status > "+out)).Outcome)
	status, err := os.ReadFile(out)
	require.NoError(t, err)
	field := func(name string) string {
		_, rest, found := strings.Cut(string(status), "\n"+name+":\t")
		require.True(t, found, name)
		line, _, _ := strings.Cut(rest, "\n")
		return line
	}
	for _, set := range []string{"CapInh", "CapPrm", "CapEff", "CapAmb"} {
		assert.Equal(t, "0000000000000000", field(set), set)
	}
	assert.Equal(t, "1", field("NoNewPrivs"))
	four := func(n uint32) string { return strings.TrimSuffix(strings.Repeat(strconv.Itoa(int(n))+"\t", 4), "\t") }
	assert.Equal(t, four(uid), field("Uid"))
	assert.Equal(t, four(gid), field("Gid"))
	if os.Getuid() == 0 {
		assert.Empty(t, strings.TrimSpace(field("Groups")))
	}
	assert.Equal(t, os.Getuid(), unix.Getuid(), "this process is what it was")
	own, err := os.ReadFile("/proc/self/status")
	require.NoError(t, err)
	assert.Contains(t, string(own), "NoNewPrivs:\t0", "the first thread, too")
}

func TestExecIsKilledWithItsGroup(t *testing.T) {
	pids := filepath.Join("/tmp", "keepvip-exec-pids-"+strconv.Itoa(os.Getpid()))
	t.Cleanup(func() { os.Remove(pids) })
	gone := func() bool {
		text, _ := os.ReadFile(pids)
		for _, pid := range strings.Fields(string(text)) {
			if _, err := os.Stat("/proc/" + pid + "/cwd"); err == nil {
				return false
			}
			if cmdline, err := os.ReadFile("/proc/" + pid + "/cmdline"); err == nil && len(cmdline) > 0 {
				return false
			}
		}
		return len(text) > 0
	}
	// Its time is over as soon as it runs.
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go func() {
		defer cancel()
		assert.Eventually(t, func() bool { text, _ := os.ReadFile(pids); return len(text) > 0 }, patience, time.Millisecond)
	}()
	r := executeIn(t, ctx, executable(t, "sleep 3600 & echo $! $$ > "+pids+"; sleep 3600"))
	assert.Equal(t, Result{Outcome: Fail, Reason: "timeout after 20s", Code: code.CheckTimeout}, r)
	assert.Eventually(t, gone, patience, time.Millisecond)

	r = execute(t, executable(t, "sleep 3600 & echo $! > "+pids+"; exit 0"))
	assert.Equal(t, Pass, r.Outcome, "it has said that it is well")
	assert.Eventually(t, gone, patience, time.Millisecond, "and leaves nothing behind")
}

func TestExecOutputIsBounded(t *testing.T) {
	r := execute(t, executable(t, "exec cat /dev/zero"))
	assert.Equal(t, Result{Outcome: Fail, Reason: "printed more than 65536 bytes"}, r)
}

func TestExecKeepsNothing(t *testing.T) {
	path := executable(t, "exit 0")
	execute(t, path)
	threads := func() int {
		entries, err := os.ReadDir("/proc/self/task")
		require.NoError(t, err)
		return len(entries)
	}
	fds, tasks := descriptors(t), threads()
	for range 50 {
		execute(t, path)
	}
	assert.InDelta(t, fds, descriptors(t), 3)
	assert.InDelta(t, tasks, threads(), 10)
}

func TestExecRefuses(t *testing.T) {
	tests := []struct {
		name string
		cfg  config.ListedCheck
		want string
	}{
		{"no command", config.ListedCheck{UID: 1, GID: 1}, `health: command [], want an absolute path with arguments`},
		{"a name", config.ListedCheck{Command: []string{"true"}, UID: 1, GID: 1}, `health: command ["true"], want an absolute path with arguments`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := Exec(tt.cfg)
			assert.EqualError(t, err, tt.want)
		})
	}
}

// A signal to any thread of a process is for the whole process, and every user may send one to a thread of its own.
func TestExecUserCannotSignalKeepvip(t *testing.T) {
	if os.Getuid() != 0 {
		t.Log("not root: the program runs as our own user, who may")
		return
	}
	r := execute(t, executable(t, `
cd /proc/$PPID/task || exit 1
for try in 1 2 3 4 5 6 7 8 9; do
	for thread in *; do
		if kill -0 $thread 2>/dev/null; then echo "may signal thread $thread of keepvip"; exit 1; fi
	done
done`))
	assert.Equal(t, Result{Reason: "exit status 0"}, r)
}
