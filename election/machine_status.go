package election

import (
	"slices"
	"time"
)

// status is what the machine knows, as of now.
func (m *machine) status(now time.Time) Status {
	s := Status{
		State: m.state, Since: m.since, Reason: m.reason, Holder: m.holder,
		Priority: m.router.Snapshot().Priority, Fitness: m.effective, Counters: m.counters,
	}
	self := m.x.withStatus(Member{
		Address: m.source, Self: true, Priority: s.Priority, State: s.State,
		Fit: s.Fitness.fit(s.Priority), Unfit: s.Fitness.Reason,
	})
	s.Members = append([]Member{self}, m.x.merge(now, m.heard.report(nil, now))...)
	if m.x != nil {
		s.Splits = slices.Clone(m.x.splits)
	}
	return s
}
