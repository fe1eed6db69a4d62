package health

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/keepvip/keepvip/internal/base/nudge"
	"github.com/keepvip/keepvip/internal/config"
)

// Checker keeps the verdict on what a [Probing] finds. Make it with [Probing.Checker] or [Always].
type Checker struct {
	probing *Probing
	gate    *Gate // guarded by the lock of probing
	told    told  // likewise
	log     *slog.Logger
	alone   func(context.Context) bool // nil: somebody else is good
	news    nudge.Signal               // there are unsaid verdicts

	mu      sync.Mutex // guards what follows
	verdict Verdict
	unsaid  []Verdict // for Run to report
}

// Checker makes one that hears of the probe's results, and counts them as h says.
func (p *Probing) Checker(h config.ListedCheck, log *slog.Logger) (*Checker, error) {
	if h.Interval <= 0 || h.Timeout <= 0 || h.Rise <= 0 || h.Fall <= 0 {
		return nil, fmt.Errorf("health: interval %v, timeout %v, rise %d, fall %d, want positive values", h.Interval, h.Timeout, h.Rise, h.Fall)
	}
	if log == nil {
		return nil, errors.New("health: no logger")
	}
	c := p.checker(NewGate(h.Rise, h.Fall), log)
	c.gate.most = max(int(dampedFor/h.Interval), 1) // 0 would be no bound
	c.gate.plain = h.Counts == config.CountsPlain
	if h.InitFail {
		c.gate.distrust()
	}
	return c, nil
}

// dampedFor bounds for how long damping alone keeps a good service unhealthy.
const dampedFor = time.Minute

func (p *Probing) checker(g *Gate, log *slog.Logger) *Checker {
	return &Checker{probing: p, gate: g, log: log, news: nudge.New()}
}

// Always makes a Checker that finds this node healthy, for an address that follows no service.
func Always() *Checker {
	return newProbing(always{}).checker(NewGate(1, 1), slog.New(slog.DiscardHandler))
}

// Observe has observe told how long each probe took, also those that others hear of. It must not block.
func (c *Checker) Observe(observe func(took time.Duration)) { c.probing.Observe(observe) }

// Alone has the first good probe count while alone tells that nobody else is good. It is asked beside each probe while the service is
// unhealthy, and ends with its context. To be called before Run.
func (c *Checker) Alone(alone func(context.Context) bool) { c.alone = alone }

// Verdict is the verdict as of the last probe.
func (c *Checker) Verdict() Verdict {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.verdict
}

// Once takes one look without counting. It must not be called while Run runs.
func (c *Checker) Once(ctx context.Context) Result { return c.probing.probe(ctx) }

// Run has the service probed until ctx ends, the first time at once. It calls report, from its own goroutine, with the first verdict, which
// may be Unknown, with every change of State or Points, and with a newer reason why the State is not Healthy. Probes go on meanwhile, so
// Verdict may be newer than what is reported. Run may be called once.
func (c *Checker) Run(ctx context.Context, report func(Verdict)) {
	defer c.probing.join(c)()
	for {
		select {
		case <-ctx.Done():
			return
		case <-c.news:
		}
		for _, v := range c.takeUnsaid() {
			if ctx.Err() != nil {
				return
			}
			report(v)
		}
	}
}

func (c *Checker) takeUnsaid() []Verdict {
	c.mu.Lock()
	defer c.mu.Unlock()
	all := c.unsaid
	c.unsaid = nil
	return all
}

// hear takes what a probe has found, and tells whether a second look is to follow at once, but never a third: a server that cuts every
// connection must not be hammered. The caller holds the lock of the Probing.
func (c *Checker) hear(found *finding, alone bool) (again bool) {
	c.gate.alone = alone
	v, changed := c.step(found.Result, found.start, found.end)
	if changed || v.Probes == 1 || c.told.stale(v) {
		c.told.note(v)
		c.say(v)
	}
	return v.Streak == 1 && (found.Broken || found.Outcome == Down)
}

// say has Run report v. A newer reason for the same state takes the place of one that waits.
func (c *Checker) say(v Verdict) {
	c.mu.Lock()
	if n := len(c.unsaid); n > 0 && c.unsaid[n-1].State == v.State {
		c.unsaid = c.unsaid[:n-1]
	}
	c.unsaid = append(c.unsaid, v)
	c.mu.Unlock()
	c.news.Send()
}

// askAlone begins to ask whether nobody else is good; nil where that makes no difference. The answer is waited for where it does.
func (c *Checker) askAlone(ctx context.Context, timeout time.Duration) (answer func(Result) bool) {
	if state, _ := c.gate.State(); c.alone == nil || state != Unhealthy {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, cmp.Or(timeout, time.Second))
	found := make(chan bool, 1)
	go func() { found <- c.alone(ctx) }()
	return func(r Result) bool {
		defer cancel()
		if r.Outcome != Pass {
			cancel()
			<-found
			return false
		}
		return <-found
	}
}

// step puts one result into the gate and the verdict, and tells whether there is news.
func (c *Checker) step(r Result, start, end time.Time) (Verdict, bool) {
	if r.Outcome == Unasked {
		return c.skip(r, start, end), false
	}
	changed := c.gate.Step(end, r)
	c.mu.Lock()
	defer c.mu.Unlock()
	v := &c.verdict
	v.State, v.Since = c.gate.State()
	v.Streak = c.gate.Streak()
	points := v.Points
	v.Outcome, v.Reason, v.Hint, v.Points = r.Outcome, r.Reason, r.Hint, r.Points
	v.Falls, v.Rise = c.gate.Falls()
	v.Code = r.why(*v)
	if v.State == Unhealthy && v.Falls > 1 {
		v.Hint = flapping(*v)
	}
	v.LastProbe, v.Latency = end, end.Sub(start).Seconds()
	v.Probes++
	if !r.Expires.IsZero() {
		v.Expires = r.Expires
	}
	if v.Lacks != "" {
		c.log.Info("this host has again what a health check takes", "unasked", v.Unasked)
		v.Lacks = ""
	}
	if r.Outcome != Pass {
		v.Failures++
	}
	if changed {
		v.Changes++
	}
	c.log.Debug("Health probe ended", "state", v.State, "reason", v.Reason, "latency", v.took())
	return *v, changed || v.Points != points
}

// skip keeps the verdict: what this host lacks says nothing of whom it could not ask.
func (c *Checker) skip(r Result, start, end time.Time) Verdict {
	c.mu.Lock()
	defer c.mu.Unlock()
	v := &c.verdict
	if v.Lacks != r.Code {
		c.log.Warn("a health check cannot be run, and its verdict stays: this host lacks what it takes", "code", string(r.Code), "error", r.Reason,
			"verdict", v.State, "remedy", r.Code.Entry().Remedy)
	}
	if v.State == Unknown {
		v.Reason = r.Reason
	}
	v.Lacks, v.LastProbe, v.Latency = r.Code, end, end.Sub(start).Seconds()
	v.Probes++
	v.Unasked++
	return *v
}

// flapping tells why a service that looks good is still unhealthy.
func flapping(v Verdict) string {
	hint := fmt.Sprintf("flapping, unhealthy %d times lately: %d good probes make it healthy", v.Falls, v.Rise)
	if v.Hint == "" {
		return hint
	}
	return v.Hint + "; " + hint
}
