package virtualrouter

import (
	"github.com/keepvip/keepvip/election"
	"github.com/keepvip/keepvip/internal/base/code"
	"github.com/keepvip/keepvip/vrrp"
)

// ownerPriority is the address owner's, which becomes Active without an election (RFC 9568 section 6.4.1).
const ownerPriority = 255

func (m *machine) begin(f election.Fitness) {
	m.fitness.told = f
	m.agenda.first(m.tieBreak, m.fit, func() {
		if f := m.fitness.effective; f.Out {
			m.reason, m.code = f.Reason, f.Code
			m.agenda.act(apply{Decision: election.Decision{Role: election.Off, Reason: m.reason, Code: m.code, At: m.now}})
		}
	})
}

// refit has a change of the fitness take effect. A wait that is over may have outlasted the timer, which was left alone meanwhile.
func (m *machine) refit(change func(*ownFitness)) {
	waited := m.waiting()
	change(&m.fitness)
	m.agenda.first(m.fit, func() {
		if waited && !m.waiting() {
			m.drain(true, m.expire)
		}
	})
}

// fit moves the router to the newest fitness.
func (m *machine) fit() {
	f := m.x.fitness(m.fitness.alone(m.cfg.Router.Priority, m.cannotWait()))
	if m.cfg.GroupMember != nil {
		f = m.cfg.GroupMember.fit(f)
	}
	if before := m.fitness.effective; before.Out {
		m.kept = before
	}
	m.fitness.effective = f
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
func (m *machine) waiting() bool { return m.fitness.waits() && m.state == election.Backup }

// cannotWait tells whether this node would become Active without being a Backup first.
func (m *machine) cannotWait() bool {
	return m.state != election.Active && m.cfg.Router.Priority == ownerPriority
}

// consult does what the group wants: become Active with the others, or give up with them.
func (m *machine) consult() {
	g := m.cfg.GroupMember
	if g == nil || m.fitness.effective.Out || m.waiting() {
		return
	}
	if g.mayTake() {
		m.stepRouter(vrrp.TakeOver{})
		return
	}
	if reason := g.mustYield(2 * m.router.Snapshot().ActiveDownInterval); reason != "" {
		m.kept = election.Fitness{Out: true, Reason: reason, Code: code.Group}
		m.agenda.first(m.routerStep(vrrp.Shutdown{Reason: vrrp.Reason(reason)}), m.routerStep(vrrp.Startup{}))
	}
}

// tellGroup lets the group know how this election stands.
func (m *machine) tellGroup() {
	if g := m.cfg.GroupMember; g != nil {
		s := m.router.Snapshot()
		g.tell(stateOf(s.State), s.Ready, m.heardHolder().IsValid())
	}
}
