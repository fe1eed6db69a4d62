package instance

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/keepvip/keepvip/election"
	"github.com/keepvip/keepvip/internal/base/state"
)

// Keep makes holds survive this process, by the names of instances. Call it before the first Apply.
func (a *Set) Keep(s *state.Store) { a.store = s }

// turn waits for the turn of a command about these instances, or all if none is named, and finds them. The caller calls done.
func (a *Set) turn(ctx context.Context, names []string) (_ context.Context, list []*instance, done func(), _ error) {
	ctx, done, err := a.turns.take(ctx, names)
	if err != nil {
		return nil, nil, nil, err
	}
	if list, err = a.named(names); err != nil {
		done()
		return nil, nil, nil, err
	}
	return ctx, list, done, nil
}

// Hold makes this node one that stays out until Resume, over restarts, and passes the addresses on before. With an error
// nothing has changed: an address that nobody else could take stays here. With force it goes nevertheless.
//
// The hold is written down before an address moves, so a disk that is full refuses it in time. It counts for the store after the move and before
// it does for the elector. So at every moment a restart makes no more of the hold than this process does.
func (a *Set) Hold(ctx context.Context, names []string, reason string, force bool) error {
	ctx, list, done, err := a.turn(ctx, names)
	if err != nil {
		return err
	}
	defer done()
	var fresh []*instance // what is held already stays so, whatever comes
	var before []desiredState
	for _, r := range list {
		if w := r.shared.now().desired; w.Desired != Held {
			fresh, before = append(fresh, r), append(before, w)
		}
	}
	h := state.Hold{Since: time.Now().UTC().Truncate(time.Second), Reason: reason}
	if err := because(ctx, a.holdBack(ctx, fresh, h, force)); err != nil {
		for i, r := range fresh {
			r.want(before[i], time.Time{})
		}
		return err
	}
	for _, r := range fresh {
		r.want(desiredState{Desired: Held, Hold: h}, time.Time{})
	}
	return because(ctx, gone(ctx, fresh))
}

// holdBack passes the addresses on and keeps the hold. With an error the store has not changed.
func (a *Set) holdBack(ctx context.Context, list []*instance, h state.Hold, force bool) error {
	if a.store == nil || len(list) == 0 {
		return passOn(ctx, list, h, force)
	}
	keep, drop, err := a.store.Prepare(namesOf(list), h)
	if err != nil {
		return err
	}
	defer drop()
	if err := passOn(ctx, list, h, force); err != nil {
		return err
	}
	return keep()
}

// passOn drains the instances, and passes on what they hold.
func passOn(ctx context.Context, list []*instance, h state.Hold, force bool) error {
	for _, r := range list {
		r.want(desiredState{Desired: Drained, Hold: h, holding: true}, time.Time{})
	}
	err := giveAway(ctx, list)
	if force && !errors.Is(ctx.Err(), context.Canceled) { // nobody forces a command that was taken back
		return nil
	}
	return err
}

// Drain makes this node one that comes last until Resume, and passes the addresses on. They stay here as long as no
// other node could take them.
func (a *Set) Drain(ctx context.Context, names []string) error {
	ctx, list, done, err := a.turn(ctx, names)
	if err != nil {
		return err
	}
	defer done()
	for _, r := range list {
		if r.shared.now().desired.Desired != Held {
			r.want(desiredState{Desired: Drained}, time.Time{})
		}
	}
	return because(ctx, giveAway(ctx, list))
}

// DrainWait is Drain, and waits until the connections to the addresses that came through this node have ended. Those
// that are left when ctx ends are reset, or go on where the load is spread; the error is election.ErrTimeout then. A node that is held stays so.
func (a *Set) DrainWait(ctx context.Context, names []string) error {
	end, ok := ctx.Deadline()
	if !ok {
		return errNoDeadline
	}
	ctx, list, done, err := a.turn(ctx, names)
	if err != nil {
		return err
	}
	defer done()
	for _, r := range list {
		d := r.shared.now().desired
		if d.Desired != Held {
			d = desiredState{Desired: Drained}
		}
		r.want(d, end.Add(-resetReserve))
	}
	defer func() {
		over := !time.Now().Before(end.Add(-resetReserve))
		for _, r := range list {
			if busy, _ := draining(r.shared.served()); !busy || over {
				r.want(r.shared.now().desired, time.Time{})
			}
		}
	}()
	if err := giveAway(ctx, list); err != nil {
		return because(ctx, err)
	}
	return because(ctx, awaitDrained(ctx, list))
}

// Resume ends Drain and Hold.
func (a *Set) Resume(names []string) error {
	defer a.turns.takeUntilDone(names)()
	list, err := a.named(names)
	if err != nil {
		return err
	}
	if err := a.forget(list); err != nil {
		return err
	}
	for _, r := range list {
		r.want(desiredState{Desired: Available}, time.Time{})
	}
	return nil
}

// giveAway passes on what is held here; nothing is no error.
func giveAway(ctx context.Context, list []*instance) error {
	err := handAll(ctx, list, "", true)
	if errors.Is(err, election.ErrNotActive) {
		return nil
	}
	return err
}

func (a *Set) forget(list []*instance) error {
	if a.store == nil || len(list) == 0 {
		return nil
	}
	return a.store.Resume(namesOf(list))
}

// initialDesired is what is desired of an instance that is new to this process.
func (a *Set) initialDesired(name string) desiredState {
	if a.store != nil {
		if h, held := a.store.Held(name); held {
			return desiredState{Desired: Held, Hold: h}
		}
	}
	return desiredState{Desired: Available}
}

func namesOf(list []*instance) []string {
	out := make([]string, len(list))
	for i, r := range list {
		out[i] = r.name
	}
	return out
}

// errNoDeadline answers a wait without an end.
var errNoDeadline = errors.New("a wait for connections needs a time limit")

// resetReserve is what is left of the time for resetting connections.
const resetReserve = 100 * time.Millisecond

// awaitDrained waits until none of them drains connections any more.
func awaitDrained(ctx context.Context, list []*instance) error {
	tick := time.NewTicker(goneEvery)
	defer tick.Stop()
	for _, r := range list {
		for busy(r) {
			select {
			case <-tick.C:
			case <-ctx.Done():
				return overdue(r.name + ": there are still connections, which go on")
			}
		}
		if _, reset := draining(r.shared.served()); reset > 0 {
			return overdue(fmt.Sprintf("%s: %d connections were reset", r.name, reset))
		}
	}
	return nil
}

// overdue is an election.ErrTimeout of connections that have not ended in time.
type overdue string

// Error implements error.
func (o overdue) Error() string { return string(o) }

// Unwrap returns the kind of error.
func (o overdue) Unwrap() error { return election.ErrTimeout }

func busy(r *instance) bool {
	b, _ := draining(r.shared.served())
	return b
}

// goneEvery is how often gone looks.
const goneEvery = 5 * time.Millisecond

// gone waits until none of them is Active.
func gone(ctx context.Context, list []*instance) error {
	tick := time.NewTicker(goneEvery)
	defer tick.Stop()
	for _, r := range list {
		for r.shared.now().state == election.Active {
			select {
			case <-tick.C:
			case <-ctx.Done():
				return election.ErrTimeout
			}
		}
	}
	return nil
}
