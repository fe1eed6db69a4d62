package health

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// maxOutput bounds what a program may print: more is a failure, so that none can print for ever.
const maxOutput = 64 << 10

// ExecConfig describes a program that tells by its exit status, 0 for healthy.
type ExecConfig struct {
	Command  []string // absolute path, and arguments; there is no shell
	UID, GID uint32   // of an unprivileged user
	Timeout  time.Duration
}

// execProber runs a program as an unprivileged user, without capabilities and without a way to gain any, in a process group of
// its own that is killed when it is over: nothing of it is left behind.
type execProber struct {
	cfg  ExecConfig
	call patient[Result]
}

// dying is how long a program that was killed may take to be gone.
const dying = 500 * time.Millisecond

// Exec makes the Prober of a program. The error says what is wrong with cfg.
func Exec(cfg ExecConfig) (Prober, error) {
	switch {
	case len(cfg.Command) == 0 || !filepath.IsAbs(cfg.Command[0]):
		return nil, fmt.Errorf("health: command %q, want an absolute path with arguments", cfg.Command)
	case cfg.UID == 0 || cfg.GID == 0:
		return nil, fmt.Errorf("health: uid %d and gid %d for %s, want those of an unprivileged user", cfg.UID, cfg.GID, cfg.Command[0])
	}
	return &execProber{cfg: cfg}, nil
}

// Probe implements [Prober]. A program that cannot even be killed, because it hangs in the kernel, is waited for by no further
// one: until it ends the check fails.
func (p *execProber) Probe(ctx context.Context) Result {
	wait, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	defer context.AfterFunc(ctx, func() { time.AfterFunc(dying, cancel) })()
	r, err := p.call.do(wait, func() Result { return p.run(ctx) })
	if err != nil {
		return Result{Outcome: Fail, Reason: "an earlier run was killed and does not end"}
	}
	return r
}

func (p *execProber) run(ctx context.Context) Result {
	read, write, err := os.Pipe()
	if err != nil {
		return Result{Outcome: Fail, Reason: "exec: " + brief(err)}
	}
	defer read.Close()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	output := make(chan []byte, 1)
	go func() { output <- collect(read, func() { cancel(errTalks) }) }()
	status, err := runSandboxed(ctx, p.cfg, write)
	// What the program has left open elsewhere does not hold us up: everything that it wrote itself is in the pipe.
	_ = read.SetReadDeadline(time.Now().Add(100 * time.Millisecond))
	return p.judge(ctx, status, err, <-output)
}

var errTalks = fmt.Errorf("printed more than %d bytes", maxOutput)

// collect reads to the end, and says so when that is too far off.
func collect(read *os.File, tooMuch func()) []byte {
	text, _ := io.ReadAll(io.LimitReader(read, maxOutput+1)) // a deadline ends it, too
	if len(text) > maxOutput {
		tooMuch()
	}
	return text
}

func (p *execProber) judge(ctx context.Context, status unix.WaitStatus, err error, output []byte) Result {
	r := Result{Outcome: Fail}
	switch {
	case errors.Is(context.Cause(ctx), errTalks):
		r.Reason = errTalks.Error()
	case errors.Is(err, errNotStarted):
		r.Reason, r.Hint = brief(err), "the check cannot run"
	case err != nil && ctx.Err() != nil:
		r.Reason = fmt.Sprintf("timeout after %v", p.cfg.Timeout)
	case err != nil:
		r.Reason = brief(err)
	case status.Signaled():
		r.Reason = "killed by " + unix.SignalName(status.Signal())
	case status.ExitStatus() == 0:
		r.Outcome, r.Reason = Pass, "exit status 0"
	default:
		r.Reason = fmt.Sprintf("exit status %d", status.ExitStatus())
		r.Hint = firstLine(output)
	}
	return r
}

// firstLine is what a program has to say, fit for one line of status and log.
func firstLine(output []byte) string {
	for line := range strings.Lines(string(output[:min(len(output), 4<<10)])) {
		if text := strings.TrimSpace(strings.Map(printable, line)); text != "" {
			return brief(errors.New(text))
		}
	}
	return ""
}

func printable(r rune) rune {
	if r < ' ' || r == 0x7f || r == '\ufffd' || r >= 0x80 && r < 0xa0 {
		return ' '
	}
	return r
}
