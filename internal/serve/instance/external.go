package instance

import (
	"context"
	"sync"
	"time"

	"github.com/keepvip/keepvip/election"
	"github.com/keepvip/keepvip/internal/base/code"
)

// Mode says who answers for the addresses. Its text is part of the status.
type Mode string

// The modes.
const (
	ModeInternal Mode = "internal" // the node that is elected
	ModeExternal Mode = "external" // somebody else
)

// Leaving is an instance that goes on for a while after its addresses have become somebody else's: it comes last, and still serves the addresses if
// nobody else does.
type Leaving struct {
	Reason string
	Until  time.Time // connections that came here are drained until then
}

// fitness is what f becomes for an instance that leaves; nil is one that does not.
func (l *Leaving) fitness(f election.Fitness) election.Fitness {
	if l == nil || f.Out {
		return f
	}
	return election.Fitness{Less: lastPlace, Wait: f.Wait, Reason: l.Reason, Code: code.External}
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

// apart tells whether the instance takes part in no election, because its addresses are somebody else's.
func (in *Config) apart() bool { return in.Mode == ModeExternal && in.Leaving == nil }

// Holds tells whether this node holds the addresses of the instance of that name.
func (a *Set) Holds(name string) bool {
	i := a.find(name)
	return i != nil && i.now().state == election.Active
}

// talkAgain is how often an instance whose addresses are somebody else's tries to talk to the other members.
const talkAgain = 5 * time.Second

// MakeExternal makes the instance one whose addresses are somebody else's: it takes part in nothing, and runs its checks. reason says whose they
// are. talk makes an elector that holds nothing, by which the nodes tell each other how they are, and what gives it back; nil: they do not.
func (in *Config) MakeExternal(reason string, talk func() (election.Elector, func(), error)) {
	in.Mode = ModeExternal
	in.Place = func() (Place, error) { return Place{}, nil }
	in.Elect = func(Place) (election.Elector, func(), error) {
		return &outsider{talk: talk, status: election.Status{Since: time.Now(), Reason: reason, Present: reason, Code: code.External}}, func() {}, nil
	}
	in.Adjust = func(e election.Elector, _ Place) {
		if o, ok := e.(*outsider); ok {
			o.say(reason)
		}
	}
	in.Serve = func(func(Blocked)) Service { return noService{} }
}

// outsider is the elector of an instance that takes part in no election.
type outsider struct {
	talk func() (election.Elector, func(), error) // nil: the nodes do not talk

	mu     sync.Mutex // guards what follows
	status election.Status
	talks  election.Elector // nil: not now
}

// Run implements election.Elector. It decides nothing.
func (o *outsider) Run(ctx context.Context, _ func(election.Decision) error) error {
	for o.talk != nil && ctx.Err() == nil {
		if e, giveBack, err := o.talk(); err == nil {
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

// say changes whose the addresses are.
func (o *outsider) say(reason string) {
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
