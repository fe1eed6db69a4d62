package instance

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/keepvip/keepvip/election"
	"github.com/keepvip/keepvip/internal/base/code"
)

// Leaving is an instance that goes on for a while after its addresses have become somebody else's: it comes last, and still serves the addresses if
// nobody else does.
type Leaving struct {
	Endpoint string    // where clients connect from now on
	Until    time.Time // connections that came here are drained until then
}

// fitness is what f becomes for an instance that leaves; nil is one that does not.
func (l *Leaving) fitness(f election.Fitness) election.Fitness {
	if l == nil || f.Out {
		return f
	}
	return election.Fitness{
		Less: lastPlace, Wait: f.Wait, Code: code.External,
		Reason: fmt.Sprintf("the mode is external: clients connect to %s, and this node gives the addresses up", l.Endpoint),
	}
}

// drain has the service go on with its connections where the instance has begun to leave, or has another time to do so, and no longer where it
// stays after all.
func (l *Leaving) drain(before *Leaving, s Service) {
	d, ok := s.(Drainer)
	switch {
	case !ok || l == nil && before == nil || l != nil && before != nil && l.Until.Equal(before.Until):
	case l == nil:
		d.Drain(time.Time{})
	default:
		d.Drain(l.Until)
	}
}

// Holds tells whether this node holds the addresses of the instance of that name.
func (a *Set) Holds(name string) bool {
	i := a.find(name)
	return i != nil && i.shared.now().state == election.Active
}

// talkAgain is how often an instance whose addresses are somebody else's tries to talk to the other members.
const talkAgain = 5 * time.Second

// elect makes the elector of a term at p. That of external addresses decides nothing.
func (in *Config) elect(p Place) (election.Elector, func(), error) {
	if !in.apart() {
		return in.Maker.Elect(in, p)
	}
	o := &outsider{talk: func() (election.Elector, func(), error) { return in.Maker.Elect(in, p) }, status: election.Status{Code: code.External}}
	o.Adjust(in, p)
	return o, func() {}, nil
}

// serve makes the service. External addresses have none.
func (in *Config) serve(blocked func(election.Fitness)) Service {
	if in.apart() {
		return noService{}
	}
	return in.Maker.Serve(in, blocked)
}

// outsider is the elector of an instance that takes part in no election.
type outsider struct {
	talk func() (election.Elector, func(), error)

	mu     sync.Mutex // guards what follows
	status election.Status
	talks  election.Elector // nil: not now
}

// Run implements election.Elector. It decides nothing.
func (o *outsider) Run(ctx context.Context, _ func(election.Decision) error) error {
	for ctx.Err() == nil {
		if e, giveBack, err := o.talk(); err == nil && e == nil {
			break
		} else if err == nil {
			o.use(e)
			_ = e.Run(ctx, func(election.Decision) error { return nil }) // tried again, whatever it was
			o.use(nil)
			giveBack()
		}
		select {
		case <-ctx.Done():
		case <-time.After(talkAgain):
		}
	}
	<-ctx.Done()
	return nil
}

// use begins to talk by that elector; nil: nobody talks.
func (o *outsider) use(e election.Elector) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.talks = e
	if e != nil {
		e.SetFitness(o.status.Fitness)
	}
}

// Adjust implements Adjuster: it says whose the addresses are.
func (o *outsider) Adjust(in *Config, _ Place) {
	reason := fmt.Sprintf("mode external: clients connect to %s, and no node holds the addresses", in.endpoint())
	o.mu.Lock()
	defer o.mu.Unlock()
	o.status.Reason, o.status.Present = reason, reason
}

// SetFitness implements election.Elector.
func (o *outsider) SetFitness(f election.Fitness) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.status.Fitness = f
	if o.talks != nil {
		o.talks.SetFitness(f)
	}
}

// SetProbe implements election.Elector.
func (*outsider) SetProbe(func(context.Context) election.Fitness) {}

// LeaseEnd implements election.Elector.
func (*outsider) LeaseEnd() time.Time { return time.Time{} }

// Status implements election.Elector.
func (o *outsider) Status() election.Status {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.status
}

// others are the members of the entry, as far as they talk to each other.
func (o *outsider) others() []election.Member {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.talks == nil {
		return nil
	}
	return o.talks.Status().Members
}

// noService is the service of an instance that serves nothing.
type noService struct{}

// Begin implements Service.
func (noService) Begin(Term) {}

// Apply implements Service.
func (noService) Apply(context.Context, election.Decision) error { return nil }

// HostChanged implements Service.
func (noService) HostChanged(Place) {}

// End implements Service.
func (noService) End() {}

// Status implements Service.
func (noService) Status() ServiceStatus { return ServiceStatus{} }

// Close implements Service.
func (noService) Close() error { return nil }
