package health

import "context"

// Prober takes one look at a service.
type Prober interface {
	// Probe returns when it knows, at the latest when ctx ends; then the Result says so. It is called from one goroutine.
	Probe(ctx context.Context) Result
}

// always is the Prober of an address that follows no service.
type always struct{}

func (always) Probe(context.Context) Result { return Result{Reason: "no check configured"} }
