package raft

import (
	"time"

	"github.com/keepvip/keepvip/election"
	"github.com/keepvip/keepvip/internal/base/code"
)

// moves is where the address was. It belongs to Run.
type moves struct {
	node   *Node
	former election.Node // the newest holder that was known
	lost   time.Time     // since when no holder is known; zero while one is
}

// explained is a decision with what every node tells of a move: who had the address and who has it, why the old holder has lost it, who asked
// for that, and how long the address was away as far as this node knows.
func (m *moves) explained(d election.Decision) election.Decision {
	d.From, d.To = m.former, election.Node{}
	if d.Holder.IsValid() {
		d.To = m.node.gossip.node(d.Holder)
	}
	switch from, why := m.node.cause.now(d.At); {
	case d.Code == code.BindRefused: // what made leadership move here says nothing about it
	case why.text != "":
		d.Code, d.From, d.Cause = why.code, from, from.Called()+": "+why.text
		switch why.code {
		case code.Handover, code.Held, code.Drained, code.DrillHandover, code.DrillCheck: // root on that node has asked
			d.AskedBy = "uid 0 on " + from.Called()
		}
	case m.silent(d):
		d.Code, d.Cause = code.HolderSilent, d.From.Called()+": silent"
	}
	if d.Holder.IsValid() && !m.lost.IsZero() {
		d.Away = d.At.Sub(m.lost)
	}
	m.note(d)
	return d
}

// silent tells that the address moves on from another node that has not said why.
func (m *moves) silent(d election.Decision) bool {
	from := d.From.Address
	return from.IsValid() && from != m.node.cfg.Self && from != d.Holder && (d.Holder.IsValid() || d.Code == code.NoLeader)
}

// note keeps who holds the address, and since when nobody does.
func (m *moves) note(d election.Decision) {
	switch {
	case d.Holder.IsValid():
		m.former, m.lost = d.To, time.Time{}
	case m.former.Address.IsValid() && m.lost.IsZero():
		m.lost = d.At
	}
}
