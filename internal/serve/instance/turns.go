package instance

import (
	"context"
	"errors"
	"slices"
	"sync"
)

// errSuperseded ends a command for the sake of a later one.
var errSuperseded = errors.New("superseded by a later command for the same address")

// errBusy refuses a command that ends no other one.
var errBusy = errors.New("another command for the same address is being carried out: wait for its end")

// turns makes what operators want of an instance one thing after another, in the order in which they say it: what the store has and what
// the instance has are the same whenever nobody has a turn. A later command ends one that is still waiting for something; a reload that begins
// an instance anew does, too. The zero value is ready.
type turns struct {
	mu    sync.Mutex // guards queue
	queue []*turn    // in the order of arrival
}

// turn is one command from its arrival to its end.
type turn struct {
	names []string // of instances; empty: all
	end   context.CancelCauseFunc
	done  chan struct{}
}

// meets tells whether two commands are about the same instance.
func (t *turn) meets(o *turn) bool {
	if len(t.names) == 0 || len(o.names) == 0 {
		return true
	}
	return slices.ContainsFunc(t.names, func(name string) bool { return slices.Contains(o.names, name) })
}

// take waits for the turn of a command about these instances, or all if none is named. The context that it returns ends also when a later
// command comes. The caller calls done when the command has ended. The error says why it never had its turn.
func (q *turns) take(ctx context.Context, names []string) (_ context.Context, done func(), _ error) {
	ctx, end := context.WithCancelCause(ctx)
	own := &turn{names: names, end: end, done: make(chan struct{})}
	earlier := q.enter(own)
	if err := ended(ctx, earlier); err != nil {
		// Whoever came later goes on waiting for whoever came earlier.
		go func() {
			_ = ended(context.Background(), earlier)
			q.leave(own)
		}()
		return nil, nil, err
	}
	return ctx, func() { q.leave(own) }, nil
}

// takeUntilDone is take for what no later command ends.
func (q *turns) takeUntilDone(names []string) (done func()) {
	own := &turn{names: names, end: func(error) {}, done: make(chan struct{})}
	_ = ended(context.Background(), q.enter(own))
	return func() { q.leave(own) }
}

// takeIdle is take for a command that ends no earlier one: with one that it meets it is errBusy.
func (q *turns) takeIdle(ctx context.Context, names []string) (_ context.Context, done func(), _ error) {
	ctx, end := context.WithCancelCause(ctx)
	own := &turn{names: names, end: end, done: make(chan struct{})}
	q.mu.Lock()
	defer q.mu.Unlock()
	if slices.ContainsFunc(q.queue, own.meets) {
		end(errBusy)
		return nil, nil, errBusy
	}
	q.queue = append(q.queue, own)
	return ctx, func() { q.leave(own) }, nil
}

// ended returns when all of these have ended, or with the reason why ctx has.
func ended(ctx context.Context, earlier []*turn) error {
	for _, o := range earlier {
		select {
		case <-o.done:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return context.Cause(ctx) // nil while it goes on
}

// enter ends the earlier ones that own meets, and returns them.
func (q *turns) enter(own *turn) (earlier []*turn) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, o := range q.queue {
		if o.meets(own) {
			o.end(errSuperseded)
			earlier = append(earlier, o)
		}
	}
	q.queue = append(q.queue, own)
	return earlier
}

func (q *turns) leave(own *turn) {
	own.end(context.Canceled)
	q.mu.Lock()
	defer q.mu.Unlock()
	q.queue = slices.DeleteFunc(q.queue, func(o *turn) bool { return o == own })
	close(own.done)
}

// because is the reason why a command has ended early, if a later one is.
func because(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); err != nil && errors.Is(cause, errSuperseded) {
		return cause
	}
	return err
}
