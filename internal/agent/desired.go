package agent

import (
	"time"

	"github.com/keepvip/keepvip/election"
)

// Desired is what an operator wants of this node. Its text is part of the status.
type Desired string

// What an operator may want.
const (
	Available Desired = "available" // it takes part
	Drained   Desired = "drained"   // it comes last, until Resume or a restart
	Held      Desired = "held"      // it stays out, until Resume
)

// Hold says since when, and why, a node is held.
type Hold struct {
	Since  time.Time `json:"since"`
	Reason string    `json:"reason,omitempty"`
}

// desiredState is what an operator wants of this node for one instance.
type desiredState struct {
	Desired
	Hold
	drainUntil time.Time // until then connections are served after the address has been passed on; zero: not at all
}

// reason is what status and the other members show.
func (d desiredState) reason() string {
	text := "drained by an operator"
	if d.Desired == Held {
		text = "held by an operator"
	}
	if d.Reason != "" {
		text += ": " + d.Reason
	}
	return text
}

// fitness is what f becomes where that is desired.
func (d desiredState) fitness(f election.Fitness) election.Fitness {
	switch d.Desired {
	case Held:
		return election.Fitness{Out: true, Less: lastPlace, Reason: d.reason()}
	case Drained:
		if !f.Out {
			return election.Fitness{Less: lastPlace, Reason: d.reason()}
		}
	}
	return f
}

// desiredChange is a desired state on its way to the loop.
type desiredChange struct {
	desiredState
	applied chan struct{} // closed when the elector knows
}

// want sets the desired state. It returns when the elector knows, and does not wait for what comes of it.
func (l *loop) want(d desiredState) {
	c := desiredChange{d, make(chan struct{})}
	select {
	case l.desires <- c:
		<-c.applied
	case <-l.stopped:
	}
}

// applyDesired takes over what an operator wants.
func (l *loop) applyDesired(c desiredChange) {
	defer close(c.applied)
	d := c.desiredState
	if d == l.desired {
		return
	}
	l.setDesired(d)
	l.tellDraining()
	l.log.Info("an operator wants this node otherwise", "desired", string(d.Desired), "reason", d.Reason)
	l.fit()
}

func (l *loop) setDesired(d desiredState) {
	l.desired = d
	l.mu.Lock()
	defer l.mu.Unlock()
	l.view.desired = d
}

// desiredNow is the desired state; it is safe from any goroutine.
func (l *loop) desiredNow() desiredState {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.view.desired
}
