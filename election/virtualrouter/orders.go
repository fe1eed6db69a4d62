package virtualrouter

import (
	"context"
	"net/netip"
	"reflect"
	"slices"
	"sync"
	"time"

	"github.com/keepvip/keepvip/election"
	"github.com/keepvip/keepvip/internal/base/nudge"
	"github.com/keepvip/keepvip/vrrp"
)

// orders are what an elector is told and asked, from any goroutine, until Run takes it in.
type orders struct {
	told  nudge.Signal  // fitness has changed, or the group, or something was posted
	asked chan event    // what somebody waits for
	ended chan struct{} // closed when Run returns

	posting sync.Mutex // guards what follows
	posted  []event    // of each kind the newest
	fitness election.Fitness
	probe   func(context.Context) election.Fitness
}

func newOrders() orders {
	return orders{told: nudge.New(), asked: make(chan event), ended: make(chan struct{})}
}

// SetFitness implements Elector.
func (o *orders) SetFitness(f election.Fitness) {
	o.posting.Lock()
	o.fitness = f
	o.posting.Unlock()
	o.wake()
}

// SetProbe implements Elector.
func (o *orders) SetProbe(probe func(context.Context) election.Fitness) {
	o.posting.Lock()
	defer o.posting.Unlock()
	o.probe = probe
}

// SetDraining says whether this node drains the connections that came through it after it has passed the address on: the
// others are told before, so that the next node knows from the beginning. Safe from any goroutine.
func (o *orders) SetDraining(draining bool) { o.post(setDraining{draining}) }

// SetCandidate says whether this node may hold the addresses from now on. A holder that may not any more gives them away like one that is
// not fit, and goes on while no other node takes them. The newest counts. Safe from any goroutine.
func (o *orders) SetCandidate(candidate bool) { o.post(setCandidate{candidate}) }

// SetSpread implements election.Spreader. Without the members' protocol nobody hears of it.
func (o *orders) SetSpread(s *election.Spread) { o.post(setSpread{s}) }

// SetUnanswered implements election.Questioner.
func (o *orders) SetUnanswered(holder netip.Addr) { o.post(setUnanswered{holder}) }

// SetUnreached implements election.Visitor.
func (o *orders) SetUnreached(u election.Unreached) { o.post(setUnreached{u}) }

// Reconfigure changes what can change without a new election: priority, interval, preemption and the advertised
// addresses. With them come the address that stands for all (members.Config.Group), how many are bound (Config.Bound),
// and members.Config.SpreadEvery. The newest counts.
func (o *orders) Reconfigure(cfg vrrp.Config, first netip.Addr, bound int, spreadEvery time.Duration) {
	o.post(change{reconfigure{cfg, first, spreadEvery}, bound})
}

// change is a live change of configuration.
type change struct {
	reconfigure
	bound int
}

// post has the elector take ev in soon. One of its kind that still waits is replaced. A channel for each kind, and a place in the queue of
// each, would cost hundreds of electors more than all else that they remember.
func (o *orders) post(ev event) {
	kind := reflect.TypeOf(ev)
	o.posting.Lock()
	o.posted = append(slices.DeleteFunc(o.posted, func(p event) bool { return reflect.TypeOf(p) == kind }), ev)
	o.posting.Unlock()
	o.wake()
}

// wake makes the elector look at its fitness, at its group, and at what was posted, again.
func (o *orders) wake() { o.told.Send() }

// take returns the newest fitness, and what was posted since the last time.
func (o *orders) take() (election.Fitness, []event) {
	o.posting.Lock()
	defer o.posting.Unlock()
	posted := o.posted
	o.posted = nil
	return o.fitness, posted
}

func (o *orders) newestFitness() election.Fitness {
	o.posting.Lock()
	defer o.posting.Unlock()
	return o.fitness
}

func (o *orders) newestProbe() func(context.Context) election.Fitness {
	o.posting.Lock()
	defer o.posting.Unlock()
	return o.probe
}

// ask has Run take ev in now. The error is election.ErrTimeout when ctx has ended before, and errStopped when the election has.
func (o *orders) ask(ctx context.Context, ev event) error {
	select {
	case o.asked <- ev:
		return nil
	case <-ctx.Done():
		return election.ErrTimeout
	case <-o.ended:
		return errStopped
	}
}
