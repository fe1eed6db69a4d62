package virtualrouter

import (
	"github.com/keepvip/keepvip/election"
	"github.com/keepvip/keepvip/vrrp"
)

// unfitPriority is what a node advertises that would rather not be Active: the lowest that is not a
// resignation, so that it comes last in every election and yields to anybody fitter.
const unfitPriority = 1

// ownerPriority is the address owner's, which becomes Active without an election (RFC 9568 section 6.4.1).
const ownerPriority = 255

func (m *machine) begin(f election.Fitness) {
	m.fitness = f
	m.agenda.first(m.tieBreak, m.fit, func() {
		if m.out {
			m.reason, m.code = m.effective.Reason, m.effective.Code
			m.agenda.act(apply{Decision: election.Decision{Role: election.Off, Reason: m.reason, Code: m.code, At: m.now}})
		}
	})
}

// refit takes over a new fitness. A wait that is over may have outlasted the timer.
func (m *machine) refit(f election.Fitness) {
	m.fitness = f
	m.agenda.first(m.fit, m.onceAwake(m.waiting()))
}

// onceAwake looks, after a change, at what was left alone while this node waited.
func (m *machine) onceAwake(waited bool) func() {
	return func() {
		if waited && !m.waiting() {
			m.drain(true, m.expire)
		}
	}
}

// fit moves the router to the newest fitness.
func (m *machine) fit() {
	f := m.backoff.Worsen(m.fitness)
	f.Out = f.Out || m.backoff.Pausing() || f.Wait && m.cannotWait()
	f = m.x.above(m.x.worsen(m.candidacy(f)))
	if m.cfg.GroupMember != nil {
		f = m.cfg.GroupMember.fit(f)
	}
	m.effective, m.out, m.waits = f, f.Out, f.Wait
	if m.out {
		m.stepRouter(vrrp.Shutdown{Reason: vrrp.Reason(f.Reason)})
		return
	}
	m.agenda.first(
		m.routerStep(vrrp.SetPriority{Priority: effective(m.cfg.Router.Priority, f)}),
		m.routerStep(vrrp.Startup{}), // counts only for a router that is not started
	)
}

// waiting tells whether this Backup must not become Active yet, whatever its timer says.
func (m *machine) waiting() bool {
	return (m.waits || m.cfg.NoCandidate) && m.state == election.Backup
}

// cannotWait tells whether this node would become Active without being a Backup first, or with others that do not wait.
func (m *machine) cannotWait() bool {
	return m.state != election.Active && (m.cfg.GroupMember != nil || m.cfg.Router.Priority == ownerPriority)
}

// effective is the priority that a node of this fitness advertises: less than base, or more of one that wants the address back. 255 is
// the owner's alone, and an owner that is unfit is no owner.
func effective(base uint8, f election.Fitness) uint8 {
	if f.Less == 0 {
		return base
	}
	return uint8(min(max(int(base)-f.Less, unfitPriority), 254))
}

// good tells whether a node of this fitness would be a good holder. One that is only less fit than it could be has the
// priority to say so.
func good(f election.Fitness, effective uint8) bool {
	return !f.Out && !f.Wait && (f.Less <= 0 || effective > unfitPriority)
}

// consult does what the group wants: become Active with the others, or give up with them.
func (m *machine) consult() {
	g := m.cfg.GroupMember
	if g == nil || m.out || m.waiting() {
		return
	}
	if g.mayTake() {
		m.stepRouter(vrrp.TakeOver{})
		return
	}
	if reason := g.mustYield(2 * m.router.Snapshot().ActiveDownInterval); reason != "" {
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
