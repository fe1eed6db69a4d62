package virtualrouter

import (
	"slices"
	"time"

	"github.com/keepvip/keepvip/election"
)

// facts is what the machine knows in this step.
func (m *machine) facts() facts {
	s := m.router.Snapshot()
	k := facts{
		now: m.now, source: m.source, priority: s.Priority, interval: m.cfg.Router.Interval, activeInterval: s.ActiveAdverInterval,
		fitness: m.fitness.effective, kept: m.fitness.kept, stop: m.stop, heard: &m.heard, roster: &m.roster,
	}
	if m.x != nil {
		k.name = m.x.own.cfg.Node
	}
	return k
}

// status is what the machine knows, as of now.
func (m *machine) status(now time.Time) election.Status {
	s := election.Status{
		State: m.state, Reason: m.reason, Code: m.code, Holder: m.holder.address,
		Priority: m.router.Snapshot().Priority, Fitness: m.fitness.effective, Counters: m.counters,
	}
	s.Members, s.Outside = m.members(now), m.outside.outsiders()
	if f := m.fitness.effective; m.state == election.Initialize && f.Out && f.Reason != "" {
		s.Present, s.Code = f.Reason, f.Code // what keeps it out may be another cause by now
	}
	if m.late {
		s.Present = lateText
	}
	if m.x != nil {
		s.Splits = slices.Clone(m.x.claims.splits)
	}
	return s
}

// members are this node, and then the others, by address.
func (m *machine) members(now time.Time) []election.Member {
	priority, f := m.router.Snapshot().Priority, m.fitness.effective
	self := election.Member{
		Address: m.source, Self: true, Priority: priority, State: m.state,
		Unfit: f.Reason, Code: f.Code, NoCandidate: m.fitness.noCandidate,
	}
	if m.x != nil {
		self = m.x.own.withStatus(self)
	}
	all := make([]election.Member, 0, 1+max(len(m.heard.list), len(m.roster.list))+len(m.roster.silent))
	all = append(all, self)
	return append(all, m.roster.merge(now, m.cfg.Router.DownTimerAdverts, m.heard.report(all[1:], now))...)
}
