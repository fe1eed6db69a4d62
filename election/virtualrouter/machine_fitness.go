package virtualrouter

import (
	"github.com/keepvip/keepvip/election"
	"github.com/keepvip/keepvip/internal/base/code"
	"github.com/keepvip/keepvip/vrrp"
)

// ownerPriority is the address owner's, which becomes Active without an election (RFC 9568 section 6.4.1).
const ownerPriority = 255

// standing is how this node stands in the election: how fit it is, and what the router and the group hear of that.
type standing struct {
	m *machine
	ownFitness
	kept election.Fitness // what kept this node out, until it takes part again
}

func (s *standing) begin(f election.Fitness) {
	m := s.m
	s.told = f
	m.agenda.first(m.tieBreak, s.fit, func() {
		if f := s.effective; f.Out {
			m.reason, m.code = f.Reason, f.Code
			m.agenda.act(apply{Decision: election.Decision{Role: election.Off, Reason: m.reason, Code: m.code, At: m.now}})
		}
	})
}

// refit has a change of the fitness take effect. A wait that is over may have outlasted the timer, which was left alone meanwhile.
func (s *standing) refit(change func(*ownFitness)) {
	m := s.m
	waited := s.waiting()
	change(&s.ownFitness)
	m.agenda.first(s.fit, func() {
		if waited && !s.waiting() {
			m.drain(true, m.expire)
		}
	})
}

// fit moves the router to the newest fitness.
func (s *standing) fit() {
	m := s.m
	f := m.x.fitness(m.leaving.worsen(s.alone(m.cfg.Router.Priority, s.cannotWait())))
	if m.cfg.GroupMember != nil {
		f = m.cfg.GroupMember.fit(f)
	}
	if before := s.effective; before.Out {
		s.kept = before
	}
	s.effective = f
	if f.Out {
		m.stepRouter(vrrp.Shutdown{Reason: vrrp.Reason(f.Reason)})
		return
	}
	m.agenda.first(
		m.routerStep(vrrp.SetPriority{Priority: effective(m.cfg.Router.Priority, f)}),
		m.routerStep(vrrp.Startup{}), // counts only for a router that is not started
	)
}

// waiting tells whether this Backup must not become Active yet, whatever its timer says.
func (s *standing) waiting() bool { return s.waits() && s.m.state == election.Backup }

// cannotWait tells whether this node would become Active without being a Backup first.
func (s *standing) cannotWait() bool {
	return s.m.state != election.Active && s.m.cfg.Router.Priority == ownerPriority
}

// consult does what the group wants: become Active with the others, or give up with them.
func (s *standing) consult() {
	m := s.m
	g := m.cfg.GroupMember
	if g == nil || s.effective.Out || s.waiting() {
		return
	}
	if g.mayTake() {
		m.stepRouter(vrrp.TakeOver{})
		return
	}
	if reason := g.mustYield(2 * m.router.Snapshot().ActiveDownInterval); reason != "" {
		s.kept = election.Fitness{Out: true, Reason: reason, Code: code.Group}
		m.agenda.first(m.routerStep(vrrp.Shutdown{Reason: vrrp.Reason(reason)}), m.routerStep(vrrp.Startup{}))
	}
}

// tellGroup lets the group know how this election stands.
func (s *standing) tellGroup() {
	m := s.m
	if g := m.cfg.GroupMember; g != nil {
		r := m.router.Snapshot()
		g.tell(election.State(r.State), r.Ready, m.holder.heard().IsValid())
	}
}
