package health

import "context"

// Prober takes one look at a service.
type Prober interface {
	// Probe returns when it knows, at the latest when ctx ends; then the Result says so. It is called from one goroutine.
	Probe(ctx context.Context) Result
}

// watcher is a Prober that also notices by itself when something has happened. It decides nothing by that: it asks for a probe.
type watcher interface {
	Prober
	// Watch makes the Prober call changed, which does not block, whenever a probe would probably find news, until ctx ends. wait
	// returns when nothing of that is left.
	Watch(ctx context.Context, changed func()) (wait func())
}

// watching is a Prober that another one, below it, watches for.
type watching struct {
	Prober
	below watcher
}

// Watch implements [watcher].
func (w watching) Watch(ctx context.Context, changed func()) (wait func()) {
	return w.below.Watch(ctx, changed)
}

// Func makes a Prober of a function.
type Func func(ctx context.Context) Result

// Probe implements [Prober].
func (f Func) Probe(ctx context.Context) Result { return f(ctx) }

// always is the Prober of an address that follows no service.
type always struct{}

func (always) Probe(context.Context) Result { return Result{Reason: "no check configured"} }
