package address

import (
	"context"
	"errors"
	"net/netip"
	"time"
)

// telling are the resets of connections. They may take longer than a release: the addresses stay for them, shut in both directions but for
// resets, while another node may have them already.
type telling struct {
	over <-chan struct{} // closed when all were told, and when the time for it has passed
	stop context.CancelFunc
	rest chan bool // gets, when the kernel has answered after the time for it has passed, whether it was at work until then
}

// mostTellTime bounds the end of a process that has addresses with a long life.
const mostTellTime = 5 * time.Second

// tellTime is how long the resets may take: no longer than the addresses live that are not renewed any more. The fence outlasts these.
func (p *Part) tellTime() time.Duration { return min(p.Valid()-p.Valid()/3, mostTellTime) }

// reset begins to end what clients have open, and once more when nothing comes in any more, if that is to be and is not so yet: there may be
// others by then.
func (a *addresses) reset(addresses []netip.Addr, in *shut) *telling {
	ctx, stop := context.WithTimeout(context.Background(), a.cfg.tellTime())
	t := &telling{over: ctx.Done(), stop: stop, rest: make(chan bool, 1)}
	a.newest = t
	if a.cfg.Reset == nil || len(addresses) == 0 {
		stop()
		return t
	}
	go func(reset func(context.Context, []netip.Addr) (int, error)) {
		defer stop()
		began, last := time.Now(), in == nil || in.isDone()
		n, err := reset(ctx, addresses)
		if !last {
			await(in.over, resetTime)
			if in.isDone() {
				more, again := reset(ctx, addresses)
				n, err = n+more, errors.Join(err, again)
			}
		}
		t.rest <- n > 0 && errors.Is(err, context.DeadlineExceeded)
		a.tellOfResets(n, time.Since(began), err)
	}(a.cfg.Reset)
	return t
}

// tellOfResets writes how many connections were reset. It may be called by any goroutine.
func (a *addresses) tellOfResets(n int, took time.Duration, err error) {
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		a.log.Warn("not all connections were reset in time; the rest follow unless keepvip ends", "reset", n, "took", took)
	case err != nil && !errors.Is(err, context.Canceled):
		a.log.Debug("connections not reset", "reset", n, "error", err)
	case n > 0:
		a.log.Info("connections were reset", "connections", n, "took", took.Round(time.Millisecond))
	}
}

// told takes the addresses off when all were told. They stay for another lifetime when this one was too short for that, but not for a kernel that
// is stuck.
func (a *addresses) told() {
	rest := a.telling.hasRest()
	a.telling, a.lives = nil, time.Time{}
	if !rest || !a.tellLeft() {
		a.uncorrected(a.gone())
	}
}

// hasRest tells whether the kernel is still at work. It waits a little for what the kernel was asked last.
func (t *telling) hasRest() bool {
	timer := time.NewTimer(resetTime)
	defer timer.Stop()
	select {
	case rest := <-t.rest:
		return rest
	case <-timer.C:
		return false
	}
}

// toldAll is closed when all were told; nil while nobody is being told.
func (a *addresses) toldAll() <-chan struct{} {
	if a.telling == nil {
		return nil
	}
	return a.telling.over
}

// waitTold waits until all were told, or the time for it is over, and takes the addresses off.
func (a *addresses) waitTold() {
	if a.newest != nil {
		<-a.newest.over
	}
	if a.telling != nil {
		a.telling = nil
		a.uncorrected(a.gone())
	}
}

// goOn keeps the addresses until the resets are over, if they are not yet. Everything is shut; where the kernel cannot silence an address on each
// way, it must not stay.
func (a *addresses) goOn(t *telling) bool {
	if isClosed(t.over) || !a.fence.coversAll() {
		return false
	}
	a.telling = t
	a.fence.do((*fencer).keepShut)
	return true
}

// tellNobody ends it: this node is to answer again, and what is still open goes on.
func (a *addresses) tellNobody() {
	a.leaves = time.Time{}
	if a.newest != nil {
		a.newest.stop()
	}
	if a.telling != nil {
		a.telling, a.stuck = nil, true // freed opens what is shut
	}
}

// bindToTell puts addresses back that the kernel has taken away, once nothing comes in any more: a reset leaves only from an address that is
// here. A process that has just woken has not seen yet that they are gone. It is false while the kernel is too busy for that.
func (a *addresses) bindToTell(in *shut) bool {
	here := time.Now().Before(a.lives) && len(a.host.Bound(a.cfg.Addresses)) >= len(a.cfg.Addresses)
	if here || a.cfg.Reset == nil || !a.fence.coversAll() {
		return true
	}
	if !in.isDone() {
		return false
	}
	if err := a.bind(); err != nil {
		a.log.Debug("not bound for the resets of its connections", "error", err)
	}
	return true
}

// leaveAgain is when it is tried again to tell clients, if the kernel was too busy to shut the fence.
const leaveAgain = time.Second

// tellLater has those told that have connections here then.
func (a *addresses) tellLater() { a.leaves = time.Now().Add(leaveAgain) }

// leave takes off what a keepvip has left that was killed, once somebody else is known to have the addresses, or this node takes no part any
// more. The kernel still has the connections, whose clients have heard nothing since; their addresses it may have taken away.
func (a *addresses) leave() {
	a.leaves = time.Time{}
	open, err := a.host.Connections(a.cfg.hosts())
	if err != nil {
		a.log.Warn("connections not counted", "error", err)
	}
	if (open > 0 || err != nil) && a.tellLeft() {
		return
	}
	a.uncorrected(a.unbind()) // also where they are gone: their interface may be up still
	a.fence.do((*fencer).release)
}

// tellLeft begins to reset the connections that are left, and tells whether the addresses stay for that. Without a fence those of IPv6 alone leave.
func (a *addresses) tellLeft() bool {
	var in *shut
	a.fence.do(func(f *fencer) { in = f.shutLeft() })
	if in != nil && !in.isDone() {
		a.tellLater()
		return false
	}
	a.bindToTell(in)
	return a.goOn(a.reset(a.cfg.hosts(), in))
}

// leaveDue tries it again, once the kernel has come to what it was asked for the last time.
func (a *addresses) leaveDue(now time.Time) {
	switch {
	case a.leaves.IsZero() || now.Before(a.leaves):
	case a.fence.fencer != nil && a.fence.fencer.shutsLeft():
		a.tellLater()
	default:
		a.leave()
	}
}
