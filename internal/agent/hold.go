package agent

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/keepvip/keepvip/election"
)

// Store keeps holds over restarts, by the names of instances. Its methods are called from several goroutines.
type Store interface {
	Held(name string) (Hold, bool)
	// Writable tells whether Hold is likely to succeed.
	Writable() error
	// Hold and Resume have lasted when they return. With an error nothing has changed.
	Hold(names []string, h Hold) error
	Resume(names []string) error
}

// Keep makes holds survive this process. Call it before the first Apply.
func (a *Agent) Keep(s Store) { a.store = s }

// Hold makes this node one that stays out until Resume, over restarts, and passes the addresses on before. With an error
// nothing has changed: an address that nobody else could take stays here. With force it goes nevertheless.
//
// The store has the hold before the elector has. So at every moment a restart makes no more of the hold than this process does.
func (a *Agent) Hold(ctx context.Context, names []string, reason string, force bool) error {
	ctx, done, err := a.turns.take(ctx, names)
	if err != nil {
		return err
	}
	defer done()
	loops, err := a.named(names)
	if err != nil {
		return err
	}
	var fresh []*running // what is held already stays so, whatever comes
	var before []desiredState
	for _, r := range loops {
		if w := r.desiredNow(); w.Desired != Held {
			w.drainUntil = time.Time{}
			fresh, before = append(fresh, r), append(before, w)
		}
	}
	h := Hold{Since: time.Now().UTC().Truncate(time.Second), Reason: reason}
	if err := because(ctx, a.holdBack(ctx, fresh, h, force)); err != nil {
		for i, r := range fresh {
			r.want(before[i])
		}
		return err
	}
	for _, r := range fresh {
		r.want(desiredState{Desired: Held, Hold: h})
	}
	return because(ctx, gone(ctx, fresh))
}

// holdBack passes the addresses on and keeps the hold. With an error the store has not changed.
func (a *Agent) holdBack(ctx context.Context, loops []*running, h Hold, force bool) error {
	if a.store == nil || len(loops) == 0 {
		return a.passOn(ctx, loops, h, force)
	}
	if err := a.store.Writable(); err != nil {
		return err
	}
	if err := a.passOn(ctx, loops, h, force); err != nil {
		return err
	}
	return a.store.Hold(namesOf(loops), h)
}

// passOn drains the instances, and passes on what they hold.
func (a *Agent) passOn(ctx context.Context, loops []*running, h Hold, force bool) error {
	for _, r := range loops {
		r.want(desiredState{Desired: Drained, Hold: h})
	}
	err := a.giveAway(ctx, loops)
	if force && !errors.Is(context.Cause(ctx), errSuperseded) {
		return nil
	}
	return err
}

// Drain makes this node one that comes last until Resume, and passes the addresses on. They stay here as long as no
// other node could take them.
func (a *Agent) Drain(ctx context.Context, names []string) error {
	ctx, done, err := a.turns.take(ctx, names)
	if err != nil {
		return err
	}
	defer done()
	loops, err := a.named(names)
	if err != nil {
		return err
	}
	for _, r := range loops {
		if r.desiredNow().Desired != Held {
			r.want(desiredState{Desired: Drained})
		}
	}
	return because(ctx, a.giveAway(ctx, loops))
}

// DrainWait is Drain, and waits until the connections to the addresses that came through this node have ended. Those
// that are left when ctx ends are reset; the error is election.ErrTimeout then.
func (a *Agent) DrainWait(ctx context.Context, names []string) error {
	end, ok := ctx.Deadline()
	if !ok {
		return errNoDeadline
	}
	ctx, done, err := a.turns.take(ctx, names)
	if err != nil {
		return err
	}
	defer done()
	loops, err := a.named(names)
	if err != nil {
		return err
	}
	for _, r := range loops {
		if r.desiredNow().Desired != Held {
			r.want(desiredState{Desired: Drained, drainUntil: end.Add(-resetReserve)})
		}
	}
	defer func() {
		for _, r := range loops {
			if w := r.desiredNow(); !w.drainUntil.IsZero() && !r.drains() {
				w.drainUntil = time.Time{}
				r.want(w)
			}
		}
	}()
	if err := a.giveAway(ctx, loops); err != nil {
		return because(ctx, err)
	}
	return because(ctx, awaitDrained(ctx, loops))
}

// Resume ends Drain and Hold.
func (a *Agent) Resume(names []string) error {
	defer a.turns.takeUntilDone(names)()
	loops, err := a.named(names)
	if err != nil {
		return err
	}
	if err := a.forget(loops); err != nil {
		return err
	}
	for _, r := range loops {
		r.want(desiredState{Desired: Available})
	}
	return nil
}

// giveAway passes on what is held here; nothing is no error.
func (a *Agent) giveAway(ctx context.Context, loops []*running) error {
	err := a.hand(ctx, loops, "", true)
	if errors.Is(err, election.ErrNotActive) {
		return nil
	}
	return err
}

func (a *Agent) forget(loops []*running) error {
	if a.store == nil || len(loops) == 0 {
		return nil
	}
	return a.store.Resume(namesOf(loops))
}

// initialDesired is what is desired of an instance that is new to this process.
func (a *Agent) initialDesired(name string) desiredState {
	if a.store != nil {
		if h, held := a.store.Held(name); held {
			return desiredState{Desired: Held, Hold: h}
		}
	}
	return desiredState{Desired: Available}
}

func namesOf(loops []*running) []string {
	out := make([]string, len(loops))
	for i, r := range loops {
		out[i] = r.name
	}
	return out
}

// errNoDeadline answers a wait without an end.
var errNoDeadline = errors.New("a wait for connections needs a time limit")

// resetReserve is what is left of the time for resetting connections.
const resetReserve = 100 * time.Millisecond

// awaitDrained waits until none of them drains connections any more.
func awaitDrained(ctx context.Context, loops []*running) error {
	tick := time.NewTicker(goneEvery)
	defer tick.Stop()
	for _, r := range loops {
		for r.drains() {
			select {
			case <-tick.C:
			case <-ctx.Done():
				return election.ErrTimeout
			}
		}
		if r.resetCount() > 0 {
			return fmt.Errorf("%s: %d connections were reset: %w", r.name, r.resetCount(), election.ErrTimeout)
		}
	}
	return nil
}

// goneEvery is how often gone looks.
const goneEvery = 5 * time.Millisecond

// gone waits until none of them is Active.
func gone(ctx context.Context, loops []*running) error {
	tick := time.NewTicker(goneEvery)
	defer tick.Stop()
	for _, r := range loops {
		for r.state() == election.Active {
			select {
			case <-tick.C:
			case <-ctx.Done():
				return election.ErrTimeout
			}
		}
	}
	return nil
}
