package health

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"github.com/keepvip/keepvip/internal/base/lack"
	"github.com/keepvip/keepvip/internal/base/regular"
	"github.com/keepvip/keepvip/internal/config"
)

type fileProber struct {
	check config.ListedCheck
	call  patient[found]
}

type found struct {
	info fs.FileInfo
	err  error
}

// File makes the Prober of a file that speaks for this node's health by being there, or by not being there. What it
// finds is definite: there is no noise in it.
func File(h config.ListedCheck) Prober { return &fileProber{check: h} }

// Probe implements [Prober].
func (p *fileProber) Probe(ctx context.Context) Result {
	f, err := p.call.do(ctx, func() (f found) {
		f.info, f.err = os.Stat(p.check.Path)
		return f
	})
	if err != nil {
		return Result{Outcome: Fail, Reason: p.check.Path + ": " + err.Error()}
	}
	return p.judge(f, time.Now())
}

func (p *fileProber) judge(f found, now time.Time) Result {
	there := f.err == nil
	switch {
	case lack.Of(f.err) != "":
		return unasked(lack.Of(f.err), f.err)
	case !there && !errors.Is(f.err, fs.ErrNotExist):
		return Result{Outcome: Fail, Reason: p.check.Path + ": " + regular.Plain(f.err).Error()}
	case there == p.check.Absent && there:
		return Result{Outcome: Down, Reason: p.check.Path + " is there"}
	case there == p.check.Absent:
		return Result{Outcome: Down, Reason: p.check.Path + " is not there"}
	case there && p.check.MaxAge > 0 && now.Sub(f.info.ModTime()) > p.check.MaxAge:
		return Result{Outcome: Down, Reason: fmt.Sprintf("%s was not written for %v", p.check.Path, p.check.MaxAge)}
	case there:
		return Result{Outcome: Pass, Reason: p.check.Path + " is there"}
	}
	return Result{Outcome: Pass, Reason: p.check.Path + " is not there"}
}
