package raft

import (
	"time"

	"github.com/keepvip/keepvip/election"
	"github.com/keepvip/keepvip/internal/base/code"
)

// explained is a decision with what every node tells of a move: who had the address and who has it, why the old holder has lost it, who asked
// for that, and how long the address was away as far as this node knows.
func (e *Elector) explained(d election.Decision) election.Decision {
	d.From, d.To = e.former, election.Node{}
	if d.Holder.IsValid() {
		d.To = e.node.gossip.node(d.Holder)
	}
	switch from, why := e.node.cause.now(d.At); {
	case d.Code == code.BindRefused: // what made leadership move here says nothing about it
	case why.text != "":
		d.Code, d.From, d.Cause = why.code, from, named(from)+": "+why.text
		switch why.code {
		case code.Handover, code.Held, code.Drained, code.DrillHandover, code.DrillCheck: // root on that node has asked
			d.AskedBy = "uid 0 on " + named(from)
		}
	case e.silent(d):
		d.Code, d.Cause = code.HolderSilent, named(d.From)+": silent"
	}
	if d.Holder.IsValid() && !e.lost.IsZero() {
		d.Away = d.At.Sub(e.lost)
	}
	e.note(d)
	return d
}

// silent tells that the address moves on from another node that has not said why.
func (e *Elector) silent(d election.Decision) bool {
	from := d.From.Address
	return from.IsValid() && from != e.node.cfg.Self && from != d.Holder && (d.Holder.IsValid() || d.Code == code.NoLeader)
}

// note keeps who holds the address, and since when nobody does.
func (e *Elector) note(d election.Decision) {
	switch {
	case d.Holder.IsValid():
		e.former, e.lost = d.To, time.Time{}
	case e.former.Address.IsValid() && e.lost.IsZero():
		e.lost = d.At
	}
}

func named(n election.Node) string {
	if n.Name != "" {
		return n.Name
	}
	return n.Address.String()
}
