package instance

import (
	"context"
	"log/slog"
	"maps"
	"slices"

	"github.com/keepvip/keepvip/internal/check/health"
)

// checkRunner runs the checks of an instance and keeps their newest verdicts. It belongs to the instance's goroutine.
type checkRunner struct {
	ctx      context.Context // of the instance: checks go on from term to term
	results  chan *result    // from the checks
	verdicts map[string]health.Verdict
	running  map[string]*checking
	alone    func(context.Context) bool // nobody else is good
}

// result is what one check reports.
type result struct {
	check string
	health.Verdict
}

func (r result) log(log *slog.Logger) {
	args := []any{"healthy", r.State == health.Healthy, "reason", r.Reason}
	if r.check != "" {
		args = append([]any{"check", r.check}, args...)
	}
	if r.Hint != "" {
		args = append(args, "hint", r.Hint)
	}
	log.Info("health changed", args...)
}

// checking is a check that runs.
type checking struct {
	Check
	cancel context.CancelFunc
	done   chan struct{}
}

func newCheckRunner() checkRunner {
	return checkRunner{results: make(chan *result), verdicts: map[string]health.Verdict{}, running: map[string]*checking{}}
}

// begin runs the checks until ctx ends or stop.
func (u *checkRunner) begin(ctx context.Context, checks []Check) {
	u.ctx = ctx
	for _, c := range checks {
		u.start(c)
	}
}

func (u *checkRunner) start(c Check) {
	ctx, cancel := context.WithCancel(u.ctx)
	r := &checking{Check: c, cancel: cancel, done: make(chan struct{})}
	u.running[c.Name] = r
	if c.Alone != nil {
		c.Alone(u.alone)
	}
	go func() {
		defer close(r.done)
		c.Run(ctx, func(v health.Verdict) {
			select {
			case u.results <- &result{c.Name, v}:
			case <-ctx.Done():
			}
		})
	}()
}

// change goes on with the checks that next has, too, ends the others and begins the new ones. It returns next with the functions
// of those that go on. A check that is new, or does something else under its old name, is taken to say what was said before
// until its first result: a change of the configuration alone must not move an address.
func (u *checkRunner) change(next []Check) []Check {
	next = slices.Clone(next)
	judged := len(u.running) == 0 || len(u.verdicts) > 0
	keep := map[string]bool{}
	for i, c := range next {
		if r, runs := u.running[c.Name]; runs && r.ID == c.ID {
			weight := c.Weight
			next[i] = r.Check
			next[i].Weight = weight // of a numbered check it is part of the ID
			keep[c.Name] = true
		}
	}
	u.end(func(name string) bool { return !keep[name] })
	names := map[string]bool{}
	for _, c := range next {
		names[c.Name] = true
		if _, before := u.verdicts[c.Name]; !before && judged {
			u.verdicts[c.Name] = health.Verdict{State: health.Healthy, Reason: "no result yet"}
		}
		if !keep[c.Name] {
			u.start(c)
		}
	}
	for name := range u.verdicts {
		if !names[name] {
			delete(u.verdicts, name)
		}
	}
	return next
}

// end stops the checks of which that is true, all at once, and waits for them.
func (u *checkRunner) end(which func(name string) bool) {
	var ended []*checking
	for name, r := range u.running {
		if which(name) {
			r.cancel()
			ended = append(ended, r)
			delete(u.running, name)
		}
	}
	for _, r := range ended {
		<-r.done
	}
}

// newest are the newest verdicts, for others to keep.
func (u *checkRunner) newest() map[string]health.Verdict { return maps.Clone(u.verdicts) }

func (u *checkRunner) stop() { u.end(func(string) bool { return true }) }

// take keeps a result, and tells what was said before and whether it is news. A check that does not know yet does not unsay
// what is known.
func (u *checkRunner) take(r *result) (before health.Verdict, news bool) {
	before, known := u.verdicts[r.check]
	if known && before.State != health.Unknown && r.State == health.Unknown {
		return before, false
	}
	u.verdicts[r.check] = r.Verdict
	return before, true
}
