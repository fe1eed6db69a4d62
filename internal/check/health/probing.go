package health

import (
	"context"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/keepvip/keepvip/internal/base/nudge"
	"github.com/keepvip/keepvip/internal/config"
)

// Probing repeats a probe while any [Checker] of it runs. All of them hear each result, so that entries which ask the same have it asked once.
// Make it with [NewProbing].
type Probing struct {
	prober   Prober
	interval time.Duration // 0: one probe, for ever
	timeout  time.Duration
	kick     nudge.Signal // a probe is asked for now, or right after the one that is running
	waiters  waiters      // of Fresh

	mu      sync.Mutex // guards what follows, and what Checkers count
	hearers []*Checker
	last    *finding // of the present repetition; nil: none yet
	cancel  context.CancelFunc
	done    chan struct{} // of the newest repetition; nil: there was none
	observe func(took time.Duration)
}

// finding is the result of one probe.
type finding struct {
	Result
	start, end time.Time
}

func (f *finding) took() time.Duration { return f.end.Sub(f.start) }

// NewProbing makes a Probing with a Prober of the caller's. It repeats it as h says.
func NewProbing(p Prober, h config.ListedCheck) *Probing {
	out := newProbing(p)
	out.interval, out.timeout = h.Interval, h.Timeout
	return out
}

func newProbing(p Prober) *Probing { return &Probing{prober: p, kick: nudge.New()} }

// Observe has observe told how long each probe took. It must not block.
func (p *Probing) Observe(observe func(took time.Duration)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.observe = observe
}

// join has c hear of results, the newest of which it hears now. leave ends that, and waits for the last probe where nobody else hears.
func (p *Probing) join(c *Checker) (leave func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.hearers = append(p.hearers, c)
	switch {
	case len(p.hearers) == 1:
		p.begin()
	case p.last != nil && c.hear(p.last, false):
		p.kick.Send()
	}
	return func() { p.leave(c) }
}

// begin repeats the probe in a goroutine of its own, once an earlier repetition has ended. The caller holds the lock.
func (p *Probing) begin() {
	before, done := p.done, make(chan struct{})
	ctx, cancel := context.WithCancel(context.Background())
	p.cancel, p.done, p.last = cancel, done, nil
	go func() {
		defer close(done)
		if before != nil {
			<-before
		}
		p.repeat(ctx)
	}()
}

func (p *Probing) leave(c *Checker) {
	p.mu.Lock()
	p.hearers = slices.DeleteFunc(p.hearers, func(o *Checker) bool { return o == c })
	if len(p.hearers) > 0 {
		p.mu.Unlock()
		return
	}
	done := p.done
	p.cancel()
	p.mu.Unlock()
	<-done
}

// repeat probes until ctx ends, the first time at once.
func (p *Probing) repeat(ctx context.Context) {
	if w, ok := p.prober.(watcher); ok {
		defer w.Watch(ctx, p.kick.Send)()
	}
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-p.kick:
		case <-timer.C:
		}
		found := p.look(ctx)
		if found == nil {
			return
		}
		if p.interval > 0 {
			timer.Reset(pause(p.interval, found.took(), rand.Float64()))
		}
	}
}

// look takes one look and tells everybody; nil when ctx has ended, which the result may be about.
func (p *Probing) look(ctx context.Context) *finding {
	found := &finding{start: time.Now()}
	waiting := p.waiters.take()
	alone := p.askAlone(ctx)
	found.Result = p.probe(ctx)
	found.end = time.Now()
	answers := map[*Checker]bool{}
	for c, answer := range alone {
		answers[c] = answer(found.Result)
	}
	if ctx.Err() != nil {
		return nil
	}
	p.tell(found, answers)
	for _, w := range waiting {
		w <- found.Result
	}
	return found
}

// askAlone begins to ask for each Checker whether nobody else is good.
func (p *Probing) askAlone(ctx context.Context) map[*Checker]func(Result) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	out := map[*Checker]func(Result) bool{}
	for _, c := range p.hearers {
		if answer := c.askAlone(ctx, p.timeout); answer != nil {
			out[c] = answer
		}
	}
	return out
}

func (p *Probing) probe(ctx context.Context) Result {
	if p.timeout == 0 {
		return p.prober.Probe(ctx)
	}
	ctx, cancel := context.WithTimeout(ctx, p.timeout)
	defer cancel()
	return p.prober.Probe(ctx)
}

func (p *Probing) tell(found *finding, alone map[*Checker]bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.last = found
	again := false
	for _, c := range p.hearers {
		again = c.hear(found, alone[c]) || again
	}
	if p.observe != nil {
		p.observe(found.took())
	}
	if again {
		p.kick.Send()
	}
}

// pause is the time from the end of one probe to the start of the next: starts are an interval apart, give or take a tenth, so
// that nodes and checks do not march in step; a probe that took longer is followed at once, never overlapped.
// random is in [0, 1).
func pause(interval, took time.Duration, random float64) time.Duration {
	jittered := interval + time.Duration((random-0.5)/5*float64(interval))
	return max(jittered-took, 0)
}
