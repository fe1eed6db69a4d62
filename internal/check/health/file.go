package health

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"github.com/keepvip/keepvip/internal/base/lack"
)

// FileConfig describes a file that speaks for this node's health by being there, or by not being there.
type FileConfig struct {
	Path   string
	Absent bool          // healthy without the file, as with one that an operator touches for maintenance
	MaxAge time.Duration // the file must have been written in that time, as by a job that shows its life; 0: whenever
}

type fileProber struct {
	cfg  FileConfig
	call patient[found]
}

type found struct {
	info fs.FileInfo
	err  error
}

// File makes the Prober of a file. What it finds is definite: there is no noise in it.
func File(cfg FileConfig) Prober { return &fileProber{cfg: cfg} }

// Probe implements [Prober].
func (p *fileProber) Probe(ctx context.Context) Result {
	f, err := p.call.do(ctx, func() (f found) {
		f.info, f.err = os.Stat(p.cfg.Path)
		return f
	})
	if err != nil {
		return Result{Outcome: Fail, Reason: p.cfg.Path + ": " + err.Error()}
	}
	return p.judge(f, time.Now())
}

func (p *fileProber) judge(f found, now time.Time) Result {
	there := f.err == nil
	switch {
	case lack.Of(f.err) != "":
		return unasked(lack.Of(f.err), f.err)
	case !there && !errors.Is(f.err, fs.ErrNotExist):
		return Result{Outcome: Fail, Reason: p.cfg.Path + ": " + plain(f.err).Error()}
	case there == p.cfg.Absent && there:
		return Result{Outcome: Down, Reason: p.cfg.Path + " is there"}
	case there == p.cfg.Absent:
		return Result{Outcome: Down, Reason: p.cfg.Path + " is not there"}
	case there && p.cfg.MaxAge > 0 && now.Sub(f.info.ModTime()) > p.cfg.MaxAge:
		return Result{Outcome: Down, Reason: fmt.Sprintf("%s was not written for %v", p.cfg.Path, p.cfg.MaxAge)}
	case there:
		return Result{Outcome: Pass, Reason: p.cfg.Path + " is there"}
	}
	return Result{Outcome: Pass, Reason: p.cfg.Path + " is not there"}
}
