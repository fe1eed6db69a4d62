package virtualrouter

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"time"

	"github.com/keepvip/keepvip/election"
	"github.com/keepvip/keepvip/internal/base/code"
	"github.com/keepvip/keepvip/members"
	"github.com/keepvip/keepvip/vrrp"
)

var errStopped = errors.New("the election has ended")

// settleTime is how long the other node has to be heard before the address counts as handed over: it advertises first, and
// resigns if it then cannot bind the address.
const settleTime = 50 * time.Millisecond

// handover is an operator's command to have the address elsewhere, or what a node wants that stops. A nil one wants nothing.
type handover struct {
	to      string // a node's name or address; empty for any
	address netip.Addr
	reason  string
	code    code.Code
	done    chan error // capacity 1

	end   time.Time // when it has failed
	heard time.Time // since when another node is heard as the Active
	taker bool      // somebody is known that could take the address
}

// await waits for the answer. When ctx ends it has the elector answer at once: the node is as fit as before when await returns.
func (h *handover) await(ctx context.Context, to chan<- event) error {
	select {
	case err := <-h.done:
		return err
	case <-ctx.Done():
	}
	select {
	case to <- abandon{h}:
		return <-h.done
	case err := <-h.done:
		return err
	}
}

func (h *handover) deadline() time.Time {
	switch {
	case h == nil:
		return time.Time{}
	case h.heard.IsZero():
		return h.end
	}
	return earlier(h.end, h.heard.Add(settleTime))
}

func (h *handover) wanted() netip.Addr {
	if h == nil {
		return netip.Addr{}
	}
	return h.address
}

// resolve finds the node that is meant among the members.
func (h *handover) resolve(list []members.Member) error {
	if h.to == "" {
		return nil
	}
	for i := range list {
		m := &list[i]
		if m.Peer.Node != h.to && m.Address.String() != h.to {
			continue
		}
		h.address = m.Address
		if !m.Peer.Fit {
			return fmt.Errorf("%w: %s is not fit: %s", election.ErrNoTaker, h.to, m.Peer.Reason)
		}
		return nil
	}
	return fmt.Errorf("%w: %s is not known as a member", election.ErrNoTaker, h.to)
}

// note keeps since when another node is heard as the Active.
func (h *handover) note(now time.Time, taken bool) {
	switch {
	case !taken:
		h.heard = time.Time{}
	case h.heard.IsZero():
		h.heard = now
	}
}

// settled tells that the other node has been heard for long enough.
func (h *handover) settled(now time.Time) bool {
	return !h.heard.IsZero() && now.Sub(h.heard) >= settleTime
}

// with is the fitness f while the address is given away. An operator who drains or holds the node is who has asked.
func (h *handover) with(f election.Fitness) election.Fitness {
	out := election.Fitness{Wait: f.Wait, Less: 255, Reason: h.reason + "; " + f.Reason, Code: h.code}
	if h.to == "" && h.code == code.Handover && (f.Code == code.Drained || f.Code == code.Held) {
		out.Reason, out.Code = f.Reason, f.Code
	}
	return out
}

func earlier(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}

// want begins a handover. A node that is on its way out gives the address away already.
func (l *leaving) want(h *handover) {
	err := error(nil)
	switch {
	case l.m.state != election.Active:
		err = election.ErrNotActive
	case l.handover != nil:
		err = errors.New("the address is being handed over already")
	case l.m.x == nil && h.to != "":
		err = fmt.Errorf("%w by name: the port for members is switched off", election.ErrNoTaker)
	default:
		err = h.resolve(l.m.roster.list)
	}
	if err != nil {
		l.m.agenda.act(answer{h, err})
		return
	}
	if h.end.IsZero() {
		h.end = l.m.now.Add(time.Minute)
	}
	l.pass(h)
}

// pass begins a handover that nothing speaks against.
func (l *leaving) pass(h *handover) {
	l.handover = h
	m := l.m
	m.agenda.first(m.fitness.fit, m.x.tell, func() {
		h.taker = m.x.successors()
		if !h.taker {
			// Routers that speak VRRP alone need an Active_Down_Interval to find out that they are better.
			h.end = earlier(h.end, m.now.Add(2*m.router.Snapshot().ActiveDownInterval+departTime))
		}
	})
}

// conclude ends a handover that has come to its end: another node is heard as the Active.
func (l *leaving) conclude() {
	h, m := l.handover, l.m
	if h == nil {
		return
	}
	active := m.router.Snapshot().State == vrrp.Active
	h.note(m.now, !active && !m.quiet && m.holder.heard().IsValid())
	switch {
	case h.settled(m.now):
		l.answer(nil)
	case m.now.Before(h.end):
	case !active || h.taker || m.x.successors():
		l.answer(election.ErrTimeout)
	default:
		l.answer(election.ErrNoTaker)
	}
}

// answer ends the handover, if there is one: it tells how that has ended, and makes the node as fit as it is.
func (l *leaving) answer(err error) {
	if l.handover == nil {
		return
	}
	l.m.agenda.act(answer{l.handover, err})
	l.handover = nil
	if !l.departs() {
		l.m.agenda.first(l.m.fitness.fit)
	}
}

// leave begins the end: a holder first passes the address on, if somebody could take it, and one that is doing so goes on until the
// next node has it. One whose link is gone reaches nobody, and must not be Active when the link comes back.
func (l *leaving) leave(why stop) {
	now := l.m.now
	l.depart(now, why)
	if why.CutOff || !l.m.quiet && (l.m.state != election.Active || !l.m.x.successors()) {
		return
	}
	if h := l.linger(now); h != nil {
		l.pass(h)
	}
}

// departed tells that nothing keeps the node any longer.
func (l *leaving) departed() bool {
	return !l.m.now.Before(l.until) || !l.m.quiet && l.m.router.Snapshot().State != vrrp.Active
}

// stopOf is why the context of Run has ended.
func stopOf(cause error) stop {
	c, reason := election.Ended(cause)
	return stop{CutOff: errors.Is(cause, election.ErrCutOff), Code: c, Reason: reason}
}
