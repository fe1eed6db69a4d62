package virtualrouter

import (
	"context"
	"sync"
	"time"

	"github.com/keepvip/keepvip/election"
	"github.com/keepvip/keepvip/members"
)

// probeTime bounds one fresh probe.
const probeTime = 2 * time.Second

// probes look afresh at this node's fitness, beside the elector.
type probes struct {
	ctx     context.Context // until end
	stop    context.CancelFunc
	results chan<- event
	running sync.WaitGroup
}

func newProbes(results chan<- event) *probes {
	p := &probes{results: results}
	p.ctx, p.stop = context.WithCancel(context.Background())
	return p
}

// start makes one probe with fn; nil: what the node was told is believed. A node that is less fit than it was told is not fit.
func (p *probes) start(id uint64, fn func(context.Context) election.Fitness, told election.Fitness) {
	p.running.Go(func() {
		ctx, cancel := context.WithTimeout(p.ctx, probeTime)
		defer cancel()
		c := members.Confirmed{ID: id, Fit: true}
		if fn != nil {
			f := fn(ctx)
			c.Fit = !f.Out && f.Less <= max(told.Less, 0) // below 0 is one that wants the address back
		}
		select {
		case p.results <- confirmed{c}:
		case <-p.ctx.Done():
		}
	})
}

// end waits for them.
func (p *probes) end() {
	p.stop()
	p.running.Wait()
}
