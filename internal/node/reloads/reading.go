package reloads

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// readTime bounds how long a reload waits for its sources. It is less than who asks for a reload has.
const readTime = 5 * time.Second

// ErrProcessEnds is the end of a reload by the end of the process.
var ErrProcessEnds = errors.New("the process ends")

// Reading reads the sources of a configuration, one reader at a time, and holds no lock meanwhile: a file system may never answer.
type Reading struct {
	busy chan struct{} // capacity 1: they are being read
}

// NewReading makes one that nobody reads with.
func NewReading() Reading { return Reading{busy: make(chan struct{}, 1)} }

// Read returns what load does. A load that hangs is left alone after 5 s, and at the end of ctx, which is [ErrProcessEnds]; nobody begins another one meanwhile.
func Read[T any](ctx context.Context, r Reading, load func() (T, error)) (T, error) {
	var none T
	limit := time.NewTimer(readTime)
	defer limit.Stop()
	slow := fmt.Errorf("the configuration cannot be read within %s: look at the file system that it is on", readTime)
	select {
	case r.busy <- struct{}{}:
	case <-limit.C:
		return none, slow
	case <-ctx.Done():
		return none, ErrProcessEnds
	}
	type result struct {
		is  T
		err error
	}
	done := make(chan result, 1)
	go func() {
		defer func() { <-r.busy }()
		is, err := load()
		done <- result{is, err}
	}()
	select {
	case got := <-done:
		return got.is, got.err
	case <-limit.C:
		return none, slow
	case <-ctx.Done():
		return none, ErrProcessEnds
	}
}
