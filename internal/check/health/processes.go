package health

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/keepvip/keepvip/internal/base/lack"
	"github.com/keepvip/keepvip/internal/base/regular"
	"github.com/keepvip/keepvip/internal/config"
)

// processesProber is healthy while there are as many processes as wanted. One that has begun or ended is seen by the
// next probe, and counts as any other result.
type processesProber struct {
	check config.ListedCheck
	proc  string // "/proc"
	call  patient[Result]
}

func newProcesses(h config.ListedCheck) *processesProber {
	if h.QuorumMax > 0 {
		h.Quorum = max(h.Quorum, 1)
	}
	return &processesProber{check: h, proc: "/proc"}
}

// Probe implements [Prober].
func (p *processesProber) Probe(ctx context.Context) Result {
	r, err := p.call.do(ctx, func() Result { return p.look(ctx) })
	if err != nil {
		return Result{Outcome: Fail, Reason: "list the processes: " + err.Error()}
	}
	return r
}

func (p *processesProber) look(ctx context.Context) Result {
	n, err := p.count(ctx)
	switch {
	case lack.Of(err) != "":
		return unasked(lack.Of(err), err)
	case err != nil:
		return Result{Outcome: Fail, Reason: "list the processes: " + brief(err)}
	case n >= p.check.Quorum && n <= p.check.QuorumMax:
		return Result{Reason: fmt.Sprintf("%d of %s", n, p.check.Process)}
	}
	r := Result{Outcome: Fail, Reason: fmt.Sprintf("%d of %s, want %s", n, p.check.Process, p.wanted())}
	if n == 0 {
		r.Hint = podHint
	}
	return r
}

func (p *processesProber) wanted() string {
	switch {
	case p.check.Quorum == p.check.QuorumMax:
		return strconv.Itoa(p.check.Quorum)
	case p.check.QuorumMax >= config.MostProcesses:
		return fmt.Sprintf("at least %d", p.check.Quorum)
	}
	return fmt.Sprintf("%d to %d", p.check.Quorum, p.check.QuorumMax)
}

func (p *processesProber) count(ctx context.Context) (n int, err error) {
	dir, err := os.Open(p.proc)
	if err != nil {
		return 0, regular.Plain(err)
	}
	defer dir.Close()
	names, err := dir.Readdirnames(-1)
	if err != nil {
		return 0, regular.Plain(err)
	}
	for _, name := range names {
		if _, err := strconv.Atoi(name); err != nil {
			continue
		}
		counts, err := p.is(filepath.Join(p.proc, name))
		if lack.Of(err) != "" {
			return 0, err
		}
		if counts {
			n++
		}
		if ctx.Err() != nil {
			return 0, ctx.Err()
		}
	}
	return n, nil
}

// is tells whether the process of a directory counts, or why that cannot be read. Arguments count where its first one
// has the name.
func (p *processesProber) is(dir string) (bool, error) {
	line, err := os.ReadFile(filepath.Join(dir, "cmdline"))
	if err != nil || len(line) == 0 {
		return false, err
	}
	first, arguments, _ := bytes.Cut(line, []byte{0})
	named := filepath.Base(string(first)) == p.check.Process
	if p.check.Arguments == nil && !named {
		name, err := kernelName(dir)
		return err == nil && name == shortName(p.check.Process), err
	}
	return named && (p.check.Arguments == nil || matches(string(arguments), p.check.Arguments, p.check.Match)), nil
}

// matches compares arguments, each of which ends with a NUL.
func matches(have string, want []string, how config.ArgumentsMatch) bool {
	var b strings.Builder
	for _, w := range want {
		b.WriteString(w + "\x00")
	}
	switch how {
	case config.MatchFirst:
		return strings.HasPrefix(have, b.String())
	case config.MatchBegin:
		return strings.HasPrefix(have, strings.TrimSuffix(b.String(), "\x00"))
	}
	return have == b.String()
}
