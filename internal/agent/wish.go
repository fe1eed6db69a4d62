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

// wish is what is wanted of one instance.
type wish struct {
	Desired
	Hold
	linger time.Time // until then connections are served after the address has been passed on; zero: not at all
}

// reason is what status and the other members show.
func (w wish) reason() string {
	text := "drained by an operator"
	if w.Desired == Held {
		text = "held by an operator"
	}
	if w.Reason != "" {
		text += ": " + w.Reason
	}
	return text
}

// fitness is the fitness f of a node of which that is wanted.
func (w wish) fitness(f election.Fitness) election.Fitness {
	switch w.Desired {
	case Held:
		return election.Fitness{Out: true, Less: lastPlace, Reason: w.reason()}
	case Drained:
		if !f.Out {
			return election.Fitness{Less: lastPlace, Reason: w.reason()}
		}
	}
	return f
}

// told is a wish on its way to the loop.
type told struct {
	wish
	heeded chan struct{}
}

// want returns when the elector has been told; it does not wait for what comes of it.
func (l *loop) want(w wish) {
	t := told{w, make(chan struct{})}
	select {
	case l.wishes <- t:
		<-t.heeded
	case <-l.stopped:
	}
}

// heed takes over an operator's wish.
func (l *loop) heed(t told) {
	defer close(t.heeded)
	w := t.wish
	if w == l.wish {
		return
	}
	l.setWish(w)
	l.tellServing()
	l.log.Info("an operator wants this node otherwise", "desired", string(w.Desired), "reason", w.Reason)
	l.fit()
}

func (l *loop) setWish(w wish) {
	l.wish = w
	l.mu.Lock()
	defer l.mu.Unlock()
	l.view.wish = w
}

// wished is safe from any goroutine.
func (l *loop) wished() wish {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.view.wish
}
