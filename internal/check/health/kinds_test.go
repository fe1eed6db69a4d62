package health

import (
	"cmp"
	"context"
	"io"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/keepvip/keepvip/internal/base/code"
	"github.com/keepvip/keepvip/internal/config"
)

// look takes one look with a budget that only a hang exceeds.
func look(t *testing.T, p Prober) Result {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	return p.Probe(ctx)
}

func TestTCP(t *testing.T) {
	open := listen(t, nil)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	l.Close()
	for _, tt := range []struct {
		name, address string
		want          Result
	}{
		{"accepts", open, Result{Outcome: Pass, Reason: "connected"}},
		{"refuses", l.Addr().String(), Result{Outcome: Down, Reason: "connection refused", Code: code.CheckRefused}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p, err := TCP(given(config.ListedCheck{Address: tt.address}))
			require.NoError(t, err)
			assert.Equal(t, tt.want, look(t, p))
		})
	}
	for _, bad := range []string{"", "127.0.0.1", ":80", "127.0.0.1:"} {
		_, err := TCP(given(config.ListedCheck{Address: bad}))
		assert.EqualError(t, err, "health: address "+strconv.Quote(bad)+", want host:port")
	}
}

func TestTCPDeathIsAnEvent(t *testing.T) {
	conns := make(chan net.Conn, 10)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				close(conns)
				return
			}
			conns <- c
		}
	}()
	p, err := TCP(given(config.ListedCheck{Address: l.Addr().String()}))
	require.NoError(t, err)
	reports := runs(t, p, config.ListedCheck{Interval: hourly})
	require.Equal(t, Healthy, next(t, reports).State)
	l.Close()
	for c := range conns {
		c.Close()
	}
	assert.Equal(t, "connection refused", next(t, reports).Reason)
}

// runs starts a Checker of any Prober.
func runs(t *testing.T, p Prober, cfg config.ListedCheck) chan Verdict {
	t.Helper()
	cfg.Timeout = cmp.Or(cfg.Timeout, patience)
	cfg = given(cfg)
	c, err := newChecker(p, cfg, slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	reports, done := make(chan Verdict, 100), make(chan struct{})
	go func() { defer close(done); c.Run(ctx, func(v Verdict) { reports <- v }) }()
	t.Cleanup(func() { cancel(); <-done })
	return reports
}

func TestFile(t *testing.T) {
	dir := t.TempDir()
	there, absent := filepath.Join(dir, "there"), filepath.Join(dir, "absent")
	require.NoError(t, os.WriteFile(there, nil, 0o600))
	old := filepath.Join(dir, "old")
	require.NoError(t, os.WriteFile(old, nil, 0o600))
	require.NoError(t, os.Chtimes(old, time.Time{}, time.Now().Add(-time.Hour)))
	tests := []struct {
		name string
		cfg  config.ListedCheck
		want Result
	}{
		{"there", config.ListedCheck{Path: there}, Result{Reason: there + " is there"}},
		{"not there", config.ListedCheck{Path: absent}, Result{Outcome: Down, Reason: absent + " is not there"}},
		{"there, to be absent", config.ListedCheck{Path: there, Absent: true}, Result{Outcome: Down, Reason: there + " is there"}},
		{"not there as wished", config.ListedCheck{Path: absent, Absent: true}, Result{Reason: absent + " is not there"}},
		{"young", config.ListedCheck{Path: there, MaxAge: 10 * time.Minute}, Result{Reason: there + " is there"}},
		{"old", config.ListedCheck{Path: old, MaxAge: 10 * time.Minute}, Result{Outcome: Down, Reason: old + " was not written for 10m0s"}},
		{"cannot be told", config.ListedCheck{Path: there + "/x", Absent: true}, Result{Outcome: Fail, Reason: there + "/x: not a directory"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) { assert.Equal(t, tt.want, look(t, File(tt.cfg))) })
	}
}

func TestPatientGoesOnWithoutWhatHangs(t *testing.T) {
	var p patient[int]
	release, begun := make(chan struct{}), 0
	hang := func() int { begun++; <-release; return begun }
	ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	for range 3 {
		_, err := p.do(ctx, hang)
		require.ErrorIs(t, err, errStuck)
	}
	close(release)
	v, err := p.do(t.Context(), hang)
	require.NoError(t, err)
	assert.Equal(t, 1, v, "no second one beside it")
	v, err = p.do(t.Context(), func() int { return 7 })
	require.NoError(t, err)
	assert.Equal(t, 7, v)
}

func TestInterface(t *testing.T) {
	p, err := Interface("no-such-if0")
	require.NoError(t, err)
	assert.Equal(t, Result{Outcome: Down, Reason: "no interface no-such-if0"}, look(t, p))
	lo, err := net.InterfaceByName("lo")
	require.NoError(t, err)
	p, err = Interface("lo")
	require.NoError(t, err)
	want := Result{Outcome: Down, Reason: "lo is down"}
	if lo.Flags&net.FlagUp != 0 {
		want = Result{Reason: "lo is up"}
	}
	assert.Equal(t, want, look(t, p))
	for _, bad := range []string{"", strings.Repeat("x", 16)} {
		_, err = Interface(bad)
		assert.ErrorContains(t, err, "want a name of 1 to 15 bytes")
	}
}

// sleeper starts a program under another name.
func sleeper(t *testing.T, name string) *exec.Cmd {
	t.Helper()
	path, err := exec.LookPath("sleep")
	require.NoError(t, err)
	cmd := exec.CommandContext(t.Context(), path, "3600")
	cmd.Args[0] = "/opt/bin/" + name
	require.NoError(t, cmd.Start())
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	// The kernel lets Start return, and only then writes the arguments.
	args := filepath.Join("/proc", strconv.Itoa(cmd.Process.Pid), "cmdline")
	require.Eventually(t, func() bool { b, _ := os.ReadFile(args); return len(b) != 0 }, 10*time.Second, time.Millisecond)
	return cmd
}

func TestProcess(t *testing.T) {
	assert.Equal(t, "no process keepvip-no-such-thing", look(t, newProcess(config.ListedCheck{Process: "keepvip-no-such-thing", Watch: true})).Reason)
	assert.Equal(t, Down, look(t, newProcess(config.ListedCheck{Process: "keepvip-no-such-thing", Watch: true})).Outcome)
	cmd := sleeper(t, "keepvip-test-sleeper")
	p := newProcess(config.ListedCheck{Process: "keepvip-test-sleeper", Watch: true})
	want := Result{Reason: "process " + strconv.Itoa(cmd.Process.Pid)}
	assert.Equal(t, want, look(t, p))
	assert.Equal(t, want, look(t, p))
	require.NoError(t, cmd.Process.Kill())
	assert.Eventually(t, func() bool { return look(t, p).Outcome == Down }, 10*time.Second, time.Millisecond, "not waited for, and dead all the same")
}

func TestProcessEndIsAnEvent(t *testing.T) {
	cmd := sleeper(t, "keepvip-test-mortal")
	if h, err := openProcess(cmd.Process.Pid); err != nil {
		t.Logf("this kernel gives no handle on processes, probes see the end: %v", err)
		return
	} else {
		h.Close()
	}
	reports := runs(t, newProcess(config.ListedCheck{Process: "keepvip-test-mortal", Watch: true}), config.ListedCheck{Interval: hourly})
	require.Equal(t, Healthy, next(t, reports).State)
	require.NoError(t, cmd.Process.Kill())
	assert.Equal(t, "no process keepvip-test-mortal", next(t, reports).Reason)
}

func TestProcessThatCannotBeListed(t *testing.T) {
	p := newProcess(config.ListedCheck{Process: "x", Watch: true})
	p.proc = filepath.Join(t.TempDir(), "none")
	assert.Equal(t, Result{Outcome: Fail, Reason: "list the processes: no such file or directory"}, look(t, p))
}

func TestFunc(t *testing.T) {
	want := Result{Outcome: Fail, Reason: io.EOF.Error()}
	assert.Equal(t, want, look(t, Func(func(context.Context) Result { return want })))
}
