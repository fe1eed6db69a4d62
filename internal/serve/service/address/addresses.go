package address

import (
	"errors"
	"time"

	"github.com/keepvip/keepvip/election"
)

// addresses are what is held: bound, behind a fence, with their connections.
type addresses struct {
	*core
	binder
	fence      termFence
	drain      drain
	forwarding forwarding
	stuck      bool      // the addresses could not be removed: they are shut
	newest     *telling  // whether or not the addresses stay for it; nil: there was none
	leaves     time.Time // when to tell the clients of an earlier run, which failed; zero: there is nothing to tell
}

func newAddresses(c *core) *addresses {
	a := &addresses{core: c, binder: binder{core: c}, fence: termFence{core: c}, drain: drain{core: c}, forwarding: forwarding{core: c}}
	a.unfenced = a.fence.missing
	return a
}

// bindGuarded binds the addresses behind the fence.
func (a *addresses) bindGuarded() error {
	a.guard()
	if err := a.lapsed(); err != nil {
		return err
	}
	return a.bind()
}

// guard makes sure that there is a guard in the kernel before the addresses are there: a process that is killed in the moment after must not
// leave them answering. As a rule it is in place since this node stands by. Where it is not, the addresses wait for it, but not so long
// that the lease is over before they are bound.
func (a *addresses) guard() {
	if f := a.fence.fencer; f != nil && !f.take(min(patience, a.cfg.Lease/6)) {
		a.log.Warn("the address is bound before the fence is in place", "reason", errSlow.Error())
	}
}

// errLapsed: this process stood still after its first advertisement, and another node may have taken over since.
var errLapsed = errors.New("the lease was over before the address was bound")

// lapsed tells whether the lease that the first advertisement began is over. An elector whose lease has not begun yet has none.
func (a *addresses) lapsed() error {
	if end := a.elector.LeaseEnd(); !end.IsZero() && !time.Now().Before(end) {
		return errLapsed
	}
	return nil
}

// unbound takes back what could not be taken whole.
func (a *addresses) unbound() error {
	a.drain.cancel()
	a.setPassing(false)
	err := a.unbind()
	a.unfence(err)
	return err
}

// unfence ends what the fence does for a holder, after unbind. What could not be removed stays shut: the lease is not over yet, and the last
// advertisements of a node that yields would even renew it.
func (a *addresses) unfence(err error) {
	if err != nil && len(a.host.Bound(a.cfg.Addresses)) > 0 {
		a.stuck = true
		a.fence.do((*fencer).keepShut)
		return
	}
	a.stuck = false
	a.fence.do((*fencer).release)
}

// freed releases what was shut, when the addresses are gone or are to be here again.
func (a *addresses) freed(again bool) {
	if a.stuck && (again || len(a.host.Bound(a.cfg.Addresses)) == 0) {
		a.stuck = false
		a.fence.do((*fencer).release)
	}
}

// letGo takes the addresses off in the order that clients notice at once: nothing comes in any more, the resets of their connections leave,
// then nothing else leaves, then the addresses go. A reset that comes later than that does not leave, and a client that only listens learns
// of its end by nothing else. So where this node answers nobody for sure, the addresses stay for the resets, and where the kernel is too busy to
// say so, clients are told later. This returns all the same: the next node must not wait for them.
func (a *addresses) letGo() error {
	a.renewal = time.Time{}
	a.forwarding.end()
	a.drain.countUndrained()
	var in, out *shut
	a.fence.do(func(f *fencer) { in = f.shutIn() })
	if !a.bindToTell(in) {
		a.serving = false
		a.tellLater()
		return a.gone()
	}
	t := a.reset(a.cfg.hosts(), in)
	await(t.over, patience)
	a.fence.do(func(f *fencer) { out = f.shutOut() })
	if in.isDone() {
		await(t.over, resetTime)
	}
	a.serving = false
	if in.isDone() && out.isDone() && a.goOn(t) {
		return nil
	}
	if !isClosed(t.over) && a.fence.coversAll() {
		t.stop() // what it ends from now on would end without a word
		a.tellLater()
	}
	return a.gone()
}

// gone takes the addresses off when there is nobody left to tell.
func (a *addresses) gone() error {
	err := a.unbind()
	a.unfence(err)
	return err
}

// startDraining begins to drain connections, and tells whether there is anything to drain.
func (a *addresses) startDraining(d election.Decision) bool {
	now := time.Now()
	if d.Role != election.Standby || a.fence.fencer == nil || !now.Before(a.drain.until) {
		return false
	}
	await(a.reset(a.drain.start(now), nil).over, patience)
	if d.Holder.IsValid() {
		a.log.Info("address passed on; its connections are drained", "to", d.Holder.String())
	} else {
		a.log.Info("address not answered for any more; its connections are drained")
	}
	a.drainDue(now)
	return true
}

// drainDue keeps the lease alive, which no advertisement does any more, and ends when no connection is left.
func (a *addresses) drainDue(now time.Time) {
	keep, over, left := a.drain.due(now)
	if over {
		a.finishDraining(left)
	}
	if !keep {
		return
	}
	a.fence.do(func(f *fencer) { f.keepDraining(now.Add(a.cfg.Lease)) })
	if a.drain.beatDue(now) {
		a.uncorrected(a.bind())
		a.fence.do(func(f *fencer) { f.ask(fenceJob{held: true, repeated: true, do: Fence.Hold}, 0) })
	}
}

// finishDraining lets go, and says how many connections did not end by themselves.
func (a *addresses) finishDraining(left int) {
	a.drain.clear()
	a.setPassing(false)
	a.uncorrected(a.letGo())
	a.drain.show(false, left)
	a.log.Info("draining of connections ended", "reset", left)
}
