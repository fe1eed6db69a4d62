package virtualrouter

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"time"

	"github.com/keepvip/keepvip/election"
	"github.com/keepvip/keepvip/internal/code"
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
func (h *handover) await(ctx context.Context, abandoned chan<- *handover) error {
	select {
	case err := <-h.done:
		return err
	case <-ctx.Done():
	}
	select {
	case abandoned <- h:
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

// want begins a handover. A node that is on its way out gives the address away already.
func (x *handoverProtocol) want(h *handover) {
	err := error(nil)
	switch {
	case x.m.state != election.Active:
		err = election.ErrNotActive
	case x.leaving != nil:
		err = errors.New("the address is being handed over already")
	default:
		err = x.resolve(h)
	}
	if err != nil {
		x.agenda.act(answer{h, err})
		return
	}
	if h.end.IsZero() {
		h.end = x.m.now.Add(time.Minute)
	}
	x.begin(h)
}

// resolve finds the node that is meant.
func (x *handoverProtocol) resolve(h *handover) error {
	if h.to == "" {
		return nil
	}
	for i := range x.m.roster.list {
		m := &x.m.roster.list[i]
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

func (x *handoverProtocol) begin(h *handover) {
	x.leaving = h
	m := x.m
	m.agenda.first(m.fit, m.tell, func() {
		h.taker = x.members.Successors(m.now)
		if !h.taker {
			// Routers that speak VRRP alone need an Active_Down_Interval to find out that they are better.
			h.end = earlier(h.end, m.now.Add(2*m.router.Snapshot().ActiveDownInterval+departTime))
		}
	})
}

// abandon ends a handover, if it has not ended, as if its time were over.
func (x *handoverProtocol) abandon(h *handover) {
	if x != nil && x.leaving == h {
		h.end = x.m.now
		x.conclude()
	}
}

func earlier(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}

// conclude ends a handover that has come to its end: another node is heard as the Active.
func (x *handoverProtocol) conclude() {
	if x == nil || x.leaving == nil {
		return
	}
	h, m := x.leaving, x.m
	active := m.router.Snapshot().State == vrrp.Active
	switch taken := !active && !x.passing && m.heardHolder().IsValid(); {
	case !taken:
		h.heard = time.Time{}
	case h.heard.IsZero():
		h.heard = m.now
	}
	switch {
	case !h.heard.IsZero() && m.now.Sub(h.heard) >= settleTime:
		x.finish(nil)
	case m.now.Before(h.end):
	case !active || h.taker || x.members.Successors(m.now):
		x.finish(election.ErrTimeout)
	default:
		x.finish(election.ErrNoTaker)
	}
}

// finish answers, and makes the node as fit as it is.
func (x *handoverProtocol) finish(err error) {
	h := x.leaving
	if h == nil {
		return
	}
	x.leaving = nil
	x.agenda.act(answer{h, err})
	if x.until.IsZero() {
		x.agenda.first(x.m.fit)
	}
}

// worsen is the fitness f while the address is to be given away.
func (x *handoverProtocol) worsen(f election.Fitness) election.Fitness {
	switch {
	case x == nil || f.Out:
		return f
	case x.leaving != nil && f.Less > 0 && f.Reason != "":
		return x.leaving.with(f)
	case x.leaving != nil:
		return election.Fitness{Wait: f.Wait, Less: 255, Reason: x.leaving.reason, Code: x.leaving.code}
	case !x.until.IsZero():
		return election.Fitness{Wait: f.Wait, Less: 255, Reason: x.m.stop.Reason, Code: x.m.stop.Code}
	}
	return f
}

// with is the fitness f while the address is given away. An operator who drains or holds the node is who has asked.
func (h *handover) with(f election.Fitness) election.Fitness {
	out := election.Fitness{Wait: f.Wait, Less: 255, Reason: h.reason + "; " + f.Reason, Code: h.code}
	if h.to == "" && h.code == code.Handover && (f.Code == code.Drained || f.Code == code.Held) {
		out.Reason, out.Code = f.Reason, f.Code
	}
	return out
}

// depart begins the end: a holder first passes the address on, if somebody could take it, and one that is doing so goes on until the
// next node has it. One whose link is gone reaches nobody, and must not be Active when the link comes back.
func (x *handoverProtocol) depart(why stop) {
	if x == nil {
		return
	}
	now := x.m.now
	x.until = now
	if why.CutOff || !x.passing && (x.m.state != election.Active || !x.members.Successors(now)) {
		return
	}
	x.until = now.Add(departTime)
	if x.leaving == nil {
		x.begin(&handover{reason: why.Reason, code: why.Code, done: make(chan error, 1), end: x.until})
	}
}

// departed tells that nothing keeps the node any longer.
func (x *handoverProtocol) departed() bool {
	return x == nil || !x.m.now.Before(x.until) || !x.passing && x.m.router.Snapshot().State != vrrp.Active
}

// stopOf is why the context of Run has ended.
func stopOf(cause error) stop {
	c, reason := election.Ended(cause)
	return stop{CutOff: errors.Is(cause, election.ErrCutOff), Code: c, Reason: reason}
}
