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
)

// ProcessesConfig describes processes that are counted.
type ProcessesConfig struct {
	Name        string // as of [Process]
	Least, Most int    // how many of them are healthy
	Arguments   []string
	Match       ArgumentsMatch // "": whatever their arguments are
}

// ArgumentsMatch is how the arguments of a process are compared. What is compared is that of a process whose first argument has the name.
type ArgumentsMatch string

// The ways.
const (
	matchExact ArgumentsMatch = "exact" // all of them
	matchFirst ArgumentsMatch = "first" // more may follow
	matchBegin ArgumentsMatch = "begin" // more may follow, and the last one may be longer
)

type processesProber struct {
	cfg  ProcessesConfig
	proc string // "/proc"
	call patient[Result]
}

// Processes makes the Prober of several processes: healthy while there are as many as wanted. One that has begun or ended is seen by the next
// probe, and counts as any other result.
func Processes(cfg ProcessesConfig) Prober { return &processesProber{cfg: cfg, proc: "/proc"} }

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
	case n >= p.cfg.Least && n <= p.cfg.Most:
		return Result{Reason: fmt.Sprintf("%d of %s", n, p.cfg.Name)}
	}
	r := Result{Outcome: Fail, Reason: fmt.Sprintf("%d of %s, want %s", n, p.cfg.Name, p.wanted())}
	if n == 0 {
		r.Hint = podHint
	}
	return r
}

func (p *processesProber) wanted() string {
	switch {
	case p.cfg.Least == p.cfg.Most:
		return strconv.Itoa(p.cfg.Least)
	case p.cfg.Most >= mostProcesses:
		return fmt.Sprintf("at least %d", p.cfg.Least)
	}
	return fmt.Sprintf("%d to %d", p.cfg.Least, p.cfg.Most)
}

// mostProcesses is no bound.
const mostProcesses = 65535

func (p *processesProber) count(ctx context.Context) (n int, err error) {
	dir, err := os.Open(p.proc)
	if err != nil {
		return 0, plain(err)
	}
	defer dir.Close()
	names, err := dir.Readdirnames(-1)
	if err != nil {
		return 0, plain(err)
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

// is tells whether the process of a directory counts, or why that cannot be read.
func (p *processesProber) is(dir string) (bool, error) {
	line, err := os.ReadFile(filepath.Join(dir, "cmdline"))
	if err != nil || len(line) == 0 {
		return false, err
	}
	first, arguments, _ := bytes.Cut(line, []byte{0})
	named := filepath.Base(string(first)) == p.cfg.Name
	if p.cfg.Match == "" && !named {
		name, err := kernelName(dir)
		return err == nil && name == shortName(p.cfg.Name), err
	}
	return named && (p.cfg.Match == "" || matches(string(arguments), p.cfg.Arguments, p.cfg.Match)), nil
}

// matches compares arguments, each of which ends with a NUL.
func matches(have string, want []string, how ArgumentsMatch) bool {
	var b strings.Builder
	for _, w := range want {
		b.WriteString(w + "\x00")
	}
	switch how {
	case matchFirst:
		return strings.HasPrefix(have, b.String())
	case matchBegin:
		return strings.HasPrefix(have, strings.TrimSuffix(b.String(), "\x00"))
	}
	return have == b.String()
}
