package address

import (
	"sync"

	"github.com/keepvip/keepvip/internal/base/nudge"
)

// maxJobs is how many jobs may wait before one that is asked for again anyway is left out: the kernel does not answer then.
const maxJobs = 16

// fenceJob is something to do with a fence.
type fenceJob struct {
	do       func(Fence) error
	held     bool // as it is after the job
	keep     bool // held is as it was
	tell     bool // its outcome says whether the fence is in place
	repeated bool // it is asked for again soon, so it may be left out
	done     chan struct{}
}

// jobQueue hands jobs to the worker of a fence, in order. It leaves out none that is asked for once: without a release, or without what opens discovery
// again, an address would stay shut. There are few of those: they are for decisions of the election, and what is tried again and again while the kernel is
// stuck, as with shutDiscovery and shutLeft, first waits for the end of what was asked before.
type jobQueue struct {
	some nudge.Signal // there may be something to take

	mu     sync.Mutex // guards what follows
	list   []fenceJob
	closed bool
}

func newJobQueue() *jobQueue { return &jobQueue{some: nudge.New()} }

// put tells whether the job is taken.
func (q *jobQueue) put(j fenceJob) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if j.repeated && len(q.list) >= maxJobs {
		return false
	}
	q.list = append(q.list, j)
	q.some.Send()
	return true
}

// take is the next job; false if none waits.
func (q *jobQueue) take() (fenceJob, bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.list) == 0 {
		return fenceJob{}, false
	}
	j := q.list[0]
	q.list = q.list[1:]
	if len(q.list) == 0 {
		q.list = nil // what it was made of is free
	}
	return j, true
}

// waiting is how many jobs wait.
func (q *jobQueue) waiting() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.list)
}

// goOn has the worker come again for the jobs that are left, and tells whether there will be any.
func (q *jobQueue) goOn() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.list) > 0 {
		q.some.Send()
	}
	return len(q.list) > 0 || !q.closed
}

// close says that there will be no more.
func (q *jobQueue) close() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.closed = true
	q.some.Send()
}
