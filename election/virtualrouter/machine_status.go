package virtualrouter

import (
	"slices"
	"time"

	"github.com/keepvip/keepvip/election"
)

// status is what the machine knows, as of now.
func (m *machine) status(now time.Time) election.Status {
	s := election.Status{
		State: m.state, Since: m.since, Reason: m.reason, Code: m.code, Holder: m.holder,
		Priority: m.router.Snapshot().Priority, Fitness: m.effective, Counters: m.counters,
	}
	self := m.x.withStatus(election.Member{
		Address: m.source, Self: true, Priority: s.Priority, State: s.State,
		Fit: good(s.Fitness, s.Priority), Unfit: s.Fitness.Reason, Code: s.Fitness.Code,
	})
	s.Members = append([]election.Member{self}, m.x.merge(now, m.heard.report(nil, now))...)
	if m.x != nil {
		s.Splits = slices.Clone(m.x.splits)
	}
	return s
}
