package spread

import (
	"context"
	"sync"
)

// jobs are the goroutines beside that of a service: they ask, watch and count, and have ended when Wait returns. Their results go to the service's
// goroutine, which alone starts them.
type jobs struct {
	sync.WaitGroup
	ctx  context.Context // ends with the service
	stop context.CancelFunc
}

func newJobs() *jobs {
	ctx, stop := context.WithCancel(context.Background())
	return &jobs{ctx: ctx, stop: stop}
}

// send gives a result to the service's goroutine, unless nobody wants it any more.
func send[T any](ctx context.Context, to chan<- T, result T) {
	select {
	case to <- result:
	case <-ctx.Done():
	}
}
