package virtualrouter

import (
	"github.com/keepvip/keepvip/election"
	"github.com/keepvip/keepvip/members"
	"github.com/keepvip/keepvip/vrrp"
)

// telling is what this node tells the members of itself.
type telling struct {
	x        *handoverProtocol
	cfg      members.Config  // as the members' machine has it
	self     members.SetSelf // as it was told last
	spread   ownSpread
	draining bool
	blame    blame
}

func (t *telling) config() members.Config {
	m := t.x.m
	r, c := m.cfg.Router, t.cfg
	c.Group, c.Addresses = m.cfg.first(), members.DigestOf(r.Addresses)
	c.Address, c.Preempt, c.PreemptDelay = m.source.WithZone(""), r.Preempt, r.PreemptDelay
	if t.x.recall.on {
		// The way back is in no hurry. A holder that is only slow would answer beside this node until it has heard it.
		c.Preempt, c.PreemptDelay, c.Patient = true, 0, true
	}
	// Whoever has the shorter interval is the first that may answer again.
	r.Interval = min(r.Interval, m.router.Snapshot().ActiveAdverInterval)
	c.Lease, c.Adverts, c.SpreadEvery = Lease(r), r.DownTimerAdverts, t.spread.every
	c.Passive = m.cfg.GroupMember != nil // instances of a group move together, by plain VRRP
	return c
}

func (t *telling) tellConfig() {
	c := t.config()
	if c == t.cfg {
		return
	}
	if c.Group != t.cfg.Group { // nobody is missed any more: who is in the group of the other name will say so
		t.x.agenda.act(rename{c.Group})
		t.x.m.roster.clear()
	}
	t.cfg = c
	t.x.agenda.first(t.x.step(members.Reconfigure{Config: c}))
}

func (t *telling) tellSelf() {
	m := t.x.m
	s, own, base := m.router.Snapshot(), &m.fitness, m.cfg.Router.Priority
	t.setSelf(members.SetSelf{Self: members.Self{
		State: s.State, Base: base, Priority: s.Priority,
		Fit: own.good(base), Reason: own.effective.Reason, Code: own.effective.Code,
		Draining: t.draining, For: m.leaving.handover.wanted(), NoCandidate: own.noCandidate,
		Claims: s.State == vrrp.Active && m.now.Before(m.leaseEnd), Router: routerOf(m.cfg.Router),
		Spread: t.spread.say(own.takes(base, m.stop != nil)), Deaf: own.deaf != "", HearsNobody: m.hearing.hearsNobody(),
	}, Unanswered: t.blame.said(), Unreached: m.outside.unreached(), NeverReached: m.outside.Never})
}

func (t *telling) setSelf(s members.SetSelf) {
	if s != t.self {
		t.self = s
		t.x.agenda.first(t.x.step(s))
	}
}

// withStatus adds what this node tells the others about itself.
func (t *telling) withStatus(self election.Member) election.Member {
	m := t.x.m
	if own := t.spread.set; own != nil {
		own := *own
		own.Fit, own.Every = m.fitness.takes(m.cfg.Router.Priority, m.stop != nil), t.x.members.Every()
		self.Spread = &own
	}
	self.Node, self.Version = t.cfg.Node, t.cfg.Software
	self.Fit = new(good(m.fitness.effective, self.Priority))
	return self
}
