package alarm

import (
	"context"
	"errors"
	"time"
)

// WithTimeout is context.WithTimeout by this clock.
func (c *Clock) WithTimeout(parent context.Context, timeout time.Duration) (context.Context, context.CancelFunc) {
	if c == nil {
		return context.WithTimeout(parent, timeout)
	}
	at := time.Now().Add(timeout)
	if sooner, ok := parent.Deadline(); ok && sooner.Before(at) {
		return context.WithCancel(parent)
	}
	ctx, cancel := context.WithCancelCause(parent)
	timer := c.Timer()
	timer.Set(at)
	go func() {
		defer timer.Stop()
		select {
		case <-timer.C:
			cancel(context.DeadlineExceeded)
		case <-ctx.Done():
		}
	}()
	return limited{ctx, at}, func() { cancel(nil) }
}

// limited is a context with a deadline.
type limited struct {
	context.Context
	deadline time.Time
}

func (l limited) Deadline() (time.Time, bool) { return l.deadline, true }

// Err tells a deadline that has passed from what was canceled.
func (l limited) Err() error {
	err := l.Context.Err()
	if err != nil && errors.Is(context.Cause(l.Context), context.DeadlineExceeded) {
		return context.DeadlineExceeded
	}
	return err
}
