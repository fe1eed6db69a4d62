package lab

import (
	"sync/atomic"
	"time"
)

const (
	// calmSpan is over how long is looked what a hypervisor takes, calmEvery how often, and calmTaken how much of one processor is too much.
	calmSpan, calmEvery = time.Second, 250 * time.Millisecond
	calmTaken           = calmSpan / 5
	// calmLimit is how long one lab waits at most, and calmBudget all of them together, however many at a time.
	calmLimit, calmBudget = 20 * time.Second, 5 * time.Minute
)

// calm knows whether the machine has its processors at this moment.
type calm struct {
	taken  atomic.Int64 // of one processor in the last calmSpan, in nanoseconds
	budget atomic.Int64 // likewise: what is left of calmBudget
	waits  atomic.Int32 // how many labs do
}

// WaitForProcessors has labs from now on begin when a hypervisor takes less than a fifth of any processor, or after 20 seconds. A test whose lab is opened
// while most of the machine is taken away has no verdict in the end, or fails by what a program does that seldom runs.
func (h *Host) WaitForProcessors() {
	c := &calm{}
	c.budget.Store(int64(calmBudget))
	h.calm = c
	go c.watch(nil, func() []time.Duration { return stolen(readFile("/proc/stat")) }) // as long as this process
}

func (c *calm) watch(done <-chan struct{}, stolen func() []time.Duration) {
	var before [][]time.Duration
	for each := time.Tick(calmEvery); ; {
		select {
		case <-done:
			return
		case <-each:
		}
		before = append(before, stolen())
		if keep := int(calmSpan/calmEvery) + 1; len(before) > keep {
			before = before[1:]
		}
		c.note(before[0], before[len(before)-1])
		if c.waits.Load() > 0 {
			c.budget.Add(-int64(calmEvery))
		}
	}
}

// note takes in what was taken of each processor until two moments.
func (c *calm) note(before, after []time.Duration) {
	most := time.Duration(0)
	for cpu := range min(len(before), len(after)) {
		most = max(most, after[cpu]-before[cpu])
	}
	c.taken.Store(int64(most))
}

// wait waits until the machine has its processors. A nil one does not wait.
func (c *calm) wait() {
	if c == nil {
		return
	}
	c.waits.Add(1)
	defer c.waits.Add(-1)
	for end := time.Now().Add(calmLimit); c.shaken() && time.Now().Before(end); {
		time.Sleep(calmEvery)
	}
}

func (c *calm) shaken() bool { return time.Duration(c.taken.Load()) > calmTaken && c.budget.Load() > 0 }
