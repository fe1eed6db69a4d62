package health

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"syscall"
	"time"

	"github.com/keepvip/keepvip/internal/base/code"
	"github.com/keepvip/keepvip/internal/base/lack"
	"github.com/keepvip/keepvip/internal/base/program"
	"github.com/keepvip/keepvip/internal/config"
)

// execProber runs a program as a user, without capabilities and without a way to gain any unless it is root, in a process group of
// its own that is killed when it is over: nothing of it is left behind.
type execProber struct {
	check config.ListedCheck
	dying time.Duration // how long a program that was killed may take to be gone
	call  patient[Result]
}

// Exec makes the Prober of a program that tells by its exit status, 0 for healthy. The error says what is wrong with
// the command.
func Exec(h config.ListedCheck) (Prober, error) {
	if len(h.Command) == 0 || !filepath.IsAbs(h.Command[0]) {
		return nil, fmt.Errorf("health: command %q, want an absolute path with arguments", h.Command)
	}
	return &execProber{check: h, dying: 500 * time.Millisecond}, nil
}

// Probe implements [Prober]. A program that cannot even be killed, because it hangs in the kernel, is waited for by no further
// one: until it ends the check fails.
func (p *execProber) Probe(ctx context.Context) Result {
	wait, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	defer context.AfterFunc(ctx, func() { time.AfterFunc(p.dying, cancel) })()
	r, err := p.call.do(wait, func() Result { return p.run(ctx) })
	if err != nil {
		return Result{Outcome: Fail, Reason: "an earlier run was killed and does not end"}
	}
	return r
}

func (p *execProber) run(ctx context.Context) Result {
	end := program.Run(ctx, p.check.Command, syscall.Credential{Uid: p.check.UID, Gid: p.check.GID}, nil)
	r := Result{Outcome: Fail, Reason: end.Reason()}
	lacks := lack.OfStart(end.Err)
	switch {
	case errors.Is(end.Err, program.ErrTalks):
	case errors.Is(end.Err, program.ErrNotStarted) && lacks != "":
		return unasked(lacks, end.Err)
	case errors.Is(end.Err, program.ErrNotStarted):
		r.Hint = "the check cannot run"
	case end.Err != nil && ctx.Err() != nil:
		r.Code, r.Reason = code.CheckTimeout, fmt.Sprintf("timeout after %v", p.check.Timeout)
	case end.OK():
		r.Outcome = Pass
	case end.Err == nil && end.Status.Exited():
		r.Hint = end.FirstLine()
	}
	return r
}
