package health

import (
	"context"
	"errors"
	"syscall"
	"time"

	"github.com/keepvip/keepvip/internal/base/code"
	"github.com/keepvip/keepvip/internal/base/lack"
	"github.com/keepvip/keepvip/internal/base/reset"
)

// furtherEvery is the least time between two looks at a further port that takes connections: its server may write a line for each.
const furtherEvery = 2 * time.Second

// further is an address that the service has to take connections at, too.
type further struct {
	address string
	seen    bool // it has taken one: an installation may be without this part
	next    time.Time
}

// withFurther is a Prober with further addresses.
type withFurther struct {
	prober  Prober
	further []*further
	dial    func(ctx context.Context, address string) error
}

// WithFurther makes a Prober that is good where p is, and where each of the addresses takes a connection (TCP). An address counts from the first
// connection on that it has taken. A p that is a [watcher] stays one.
func WithFurther(p Prober, addresses ...string) Prober {
	out := &withFurther{prober: p, dial: reset.Dial}
	for _, a := range addresses {
		out.further = append(out.further, &further{address: a})
	}
	if w, ok := p.(watcher); ok {
		return watching{out, w}
	}
	return out
}

// Probe implements [Prober].
func (w *withFurther) Probe(ctx context.Context) Result {
	found := w.prober.Probe(ctx)
	if found.Outcome != Pass {
		return found
	}
	for _, f := range w.further {
		if r := w.look(ctx, f); r.Outcome != Pass {
			r.Expires = found.Expires
			return r
		}
	}
	return found
}

func (w *withFurther) look(ctx context.Context, f *further) Result {
	now := time.Now()
	if now.Before(f.next) {
		return Result{}
	}
	err := w.dial(ctx, f.address)
	lacks := lack.OfDial(ctx, err, f.address)
	switch {
	case err == nil:
		f.seen, f.next = true, now.Add(furtherEvery)
		return Result{}
	case !f.seen:
		f.next = now.Add(furtherEvery)
		return Result{}
	case lacks != "":
		return Result{Outcome: Unasked, Code: lacks, Reason: f.address + ": " + brief(err)}
	case errors.Is(err, syscall.ECONNREFUSED):
		return Result{Outcome: Down, Code: code.CheckRefused, Reason: f.address + ": connection refused"}
	case isTimeout(ctx, err):
		return Result{Outcome: Fail, Code: code.CheckTimeout, Reason: f.address + ": timeout connecting"}
	}
	return Result{Outcome: Fail, Reason: f.address + ": " + brief(err)}
}
