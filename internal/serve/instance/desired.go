package instance

import (
	"time"

	"github.com/keepvip/keepvip/election"
	"github.com/keepvip/keepvip/internal/base/code"
	"github.com/keepvip/keepvip/internal/base/state"
)

// Desired is what an operator wants of this node. Its text is part of the status.
type Desired string

// What an operator may want.
const (
	Available Desired = "available" // it takes part
	Drained   Desired = "drained"   // it comes last, until Resume or a restart
	Held      Desired = "held"      // it stays out, until Resume
)

// desiredState is what an operator wants of this node for one instance.
type desiredState struct {
	Desired
	state.Hold
	holding bool // Drained until the addresses have gone, Held from then on
}

// reason is what status and the other members show.
func (d desiredState) reason() string {
	text := "drained by an operator"
	if d.Desired == Held || d.holding {
		text = "held by an operator"
	}
	if d.Reason != "" {
		text += ": " + d.Reason
	}
	return text
}

// code is that of the reason.
func (d desiredState) code() code.Code {
	if d.Desired == Held || d.holding {
		return code.Held
	}
	return code.Drained
}

// fitness is what f becomes where that is desired.
func (d desiredState) fitness(f election.Fitness) election.Fitness {
	switch d.Desired {
	case Held:
		return election.Fitness{Out: true, Less: lastPlace, Reason: d.reason(), Code: d.code()}
	case Drained:
		if !f.Out {
			return election.Fitness{Less: lastPlace, Reason: d.reason(), Code: d.code()}
		}
	}
	return f
}

// desiredChange is a desired state on its way to the instance.
type desiredChange struct {
	desiredState
	drain   time.Time     // until then the service goes on with its connections after the address has been passed on; zero: not at all
	applied chan struct{} // closed when the elector knows
}

// want sets the desired state, and has the service go on with its connections until then, or the zero Time: not at all. It returns when
// the elector knows, and does not wait for what comes of it.
func (i *instance) want(d desiredState, until time.Time) {
	c := &desiredChange{d, until, make(chan struct{})}
	select {
	case i.desires <- c:
		<-c.applied
	case <-i.stopped:
	}
}

// applyDesired takes over what an operator wants.
func (i *instance) applyDesired(c *desiredChange) {
	defer close(c.applied)
	v := i.shared.now()
	if s, ok := v.service.(Drainer); ok {
		s.Drain(c.drain)
	}
	if c.desiredState == v.desired {
		return
	}
	i.log.Info("an operator wants this node otherwise", "desired", string(c.Desired), "reason", c.Reason)
	i.shared.tell(func(v *view) { v.desired = c.desiredState })
	i.faults.watch(time.Now())
}

// draining is what a service says.
func draining(s Service) (busy bool, reset int) {
	if d, ok := s.(Drainer); ok {
		return d.Draining()
	}
	return false, 0
}
