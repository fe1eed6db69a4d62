package health

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/keepvip/keepvip/internal/base/lack"
	"github.com/keepvip/keepvip/internal/config"
)

// ErrNoAnswer: the neighbour was asked and has not answered.
var ErrNoAnswer = errors.New("no answer")

// Neighbour asks a machine on the same link whether it is there. Its methods are called from one goroutine at a time.
type Neighbour interface {
	// Ask asks once and returns who has answered, in words for an operator ("10.0.0.1 is at 02:00:00:00:00:01 on eth0"). It returns at
	// the latest when ctx ends. The error wraps ErrNoAnswer when nobody did, and then names who was asked; any other says why
	// nobody could be asked.
	Ask(ctx context.Context) (string, error)
	// Close gives back what Ask keeps for the next question. Ask may be called again.
	Close() error
}

// gatewayProber asks the router of a link whether it is there.
type gatewayProber struct {
	neighbour Neighbour
	timeout   time.Duration // for the reason only
	watched   bool          // Close comes with the end of the watch
}

var _ watcher = (*gatewayProber)(nil)

// Gateway makes the Prober of a router on the link: a node that cannot reach it is of no use to clients elsewhere, even when its
// neighbours hear it. One question may be lost; they are counted.
func Gateway(n Neighbour, h config.ListedCheck) Prober {
	return &gatewayProber{neighbour: n, timeout: h.Timeout}
}

// Watch implements [watcher]: there is nothing to watch, but something to give back at the end.
func (p *gatewayProber) Watch(context.Context, func()) (wait func()) {
	p.watched = true
	return func() {
		p.watched = false
		_ = p.neighbour.Close() // nothing is under way
	}
}

// Probe implements [Prober].
func (p *gatewayProber) Probe(ctx context.Context) Result {
	answer, err := p.neighbour.Ask(ctx)
	if !p.watched {
		_ = p.neighbour.Close() // nothing is under way
	}
	switch {
	case lack.Of(err) != "":
		return unasked(lack.Of(err), err)
	case errors.Is(err, ErrNoAnswer):
		return Result{Outcome: Fail, Reason: fmt.Sprintf("%s within %v", brief(err), p.timeout)}
	case err != nil:
		return Result{Outcome: Fail, Reason: brief(err), Hint: "the check cannot run"}
	}
	return Result{Outcome: Pass, Reason: answer}
}
