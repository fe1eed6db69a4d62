package virtualrouter

import (
	"context"
	"errors"
	"net/netip"
	"time"

	"github.com/keepvip/keepvip/election"
)

// still is an operator's wish that the election stand still for a while.
type still struct {
	end  <-chan struct{}
	over chan struct{} // closed when the election goes on
}

// event: the elector itself does that, and no machine sees it.
func (still) event() {}

// StandStill stops the election until ctx ends, as if this process were frozen: nothing is sent, nothing is heard, and the lease that the
// last advertisement began is not renewed, so that the kernel ends it. Then the election finds what a process finds that wakes. It returns
// when it has, or when the election has ended: a node that stops does not stand still. Safe from any goroutine.
func (e *Elector) StandStill(ctx context.Context) error {
	s := still{end: ctx.Done(), over: make(chan struct{})}
	switch err := e.ask(ctx, s); {
	case errors.Is(err, election.ErrTimeout):
		return nil
	case err != nil:
		return err
	}
	select {
	case <-s.over:
		return nil
	case <-e.ended:
		return errStopped
	}
}

func (e *Elector) standStill(ctx context.Context, probes *probes, s still) {
	defer close(s.over)
	if e.cfg.Pulse != nil {
		e.cfg.Pulse.Tell(false, netip.Addr{}) // it is another goroutine's, and goes on
	}
	select {
	case <-s.end:
	case <-ctx.Done():
	}
	e.look(probes)
}

// errNoWayBack is why an address stays where it has gone.
var errNoWayBack = errors.New("with port 0 and in a group it moves by plain VRRP, which has no way back")

// takeBackEvery is how often TakeBack looks whether the address is here.
const takeBackEvery = 20 * time.Millisecond

// TakeBack has the address come back from a holder that is as fit: until it is here, or ctx has ended, this node ranks above that
// holder and asks for the address, whatever its own preemption. The error is errNoWayBack where only VRRP could
// do that, and election.ErrTimeout when the address has not come. Safe from any goroutine.
func (e *Elector) TakeBack(ctx context.Context) error {
	if e.cfg.Members == nil || e.cfg.GroupMember != nil {
		return errNoWayBack
	}
	defer e.ask(context.WithoutCancel(ctx), takeBack{false})
	tick := time.NewTicker(takeBackEvery)
	defer tick.Stop()
	for e.Status().State != election.Active {
		if err := e.ask(ctx, takeBack{true}); err != nil {
			return err
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return election.ErrTimeout
		case <-e.ended:
			return errStopped
		}
	}
	e.outlast(ctx)
	return nil
}

// outlast goes on ranking above the former holder until that is silent for everybody: to the others it counts for as long.
func (e *Elector) outlast(ctx context.Context) {
	e.mu.Lock()
	d := e.machine.router.Snapshot().ActiveDownInterval
	e.mu.Unlock()
	wait := time.NewTimer(d)
	defer wait.Stop()
	select {
	case <-wait.C:
	case <-ctx.Done():
	case <-e.ended:
	}
}
