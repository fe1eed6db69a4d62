package spread

import (
	"sync"

	"github.com/keepvip/keepvip/internal/base/nudge"
)

// queue is what a service's goroutine is to do, in the order in which it was told. Any goroutine may add to it, and none waits: the kernel may take
// seconds for what the service's goroutine is about, and those who tell it something decide about the address.
type queue struct {
	ready nudge.Signal // there may be something to take

	mu     sync.Mutex // guards what follows
	calls  []func(*server)
	closed bool // nobody takes anything any more
}

func newQueue() *queue { return &queue{ready: nudge.New()} }

// add tells whether it will be done: nothing is any more once the service has ended.
func (q *queue) add(call func(*server)) bool {
	q.mu.Lock()
	if q.closed {
		q.mu.Unlock()
		return false
	}
	q.calls = append(q.calls, call)
	q.mu.Unlock()
	q.ready.Send()
	return true
}

// closeEmpty ends it, unless something is to be done yet.
func (q *queue) closeEmpty() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.closed = q.closed || len(q.calls) == 0
	return q.closed
}

// close ends it, whatever is left.
func (q *queue) close() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.closed, q.calls = true, nil
}

// take empties it.
func (q *queue) take() []func(*server) {
	q.mu.Lock()
	defer q.mu.Unlock()
	calls := q.calls
	q.calls = nil
	return calls
}
