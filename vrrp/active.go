package vrrp

import "time"

const (
	// answerGap bounds the advertisements that rivals can draw from an Active: one sent less than this ago answers the
	// next rival as well. Without it two routers that both believe they win would answer each other at line rate.
	answerGap = time.Millisecond

	// answerBurst is how many are answered so, and then one in a tenth of an interval: who forges rivals must not make an Active
	// flood the link. A rival that is not answered hears the next advertisement.
	answerBurst, answersEach = 16, 10

	// lowerAfter is how long an Active keeps a lower priority to itself at least: what it says to the members of its group by other
	// means, that it wants to pass the addresses on, is to be there first. They then follow the advertisement ([Received], Deferred).
	lowerAfter = 2 * time.Millisecond

	// pacedAdverts is how many advertisements keep the group's shorter interval after a change to a longer one.
	pacedAdverts = 5
)

// active is what an Active knows.
type active struct {
	sent     time.Time     // when the last advertisement was sent
	interval time.Duration // Advertisement_Interval then
	deadline time.Time     // the Adver_Timer expires

	// The next paced advertisements come at this shorter interval. Backups time the Active by the interval that they
	// heard last; if the first advertisement with a longer one is lost, they must still hear the next in time.
	pace  time.Duration
	paced int

	answered time.Time // answers to rivals are paid for until then
}

// becomeActive sends the first advertisement before the addresses are bound, so that the other Backups' timers restart
// as early as they can.
func (m *Machine) becomeActive(now time.Time, reason Reason) {
	m.final.stop()
	m.active = active{}
	m.active.repace(m.backup.interval, m.cfg.Interval)
	m.backup.reset(m.cfg)
	m.backup.interval = m.cfg.Interval
	m.advertise(now)
	m.change(now, Active, reason)
}

// repace goes over to another interval: to a longer one after a few advertisements.
func (a *active) repace(from, to time.Duration) {
	if to > from {
		a.pace, a.paced = from, pacedAdverts
	} else if to < from {
		a.paced = 0
	}
}

// advertise sends an advertisement and restarts the Adver_Timer.
func (m *Machine) advertise(now time.Time) {
	interval := m.cfg.Interval
	if m.active.paced > 0 {
		m.active.paced--
		interval = m.active.pace
	}
	m.active.sent, m.active.interval, m.active.deadline = now, interval, m.onTick(now, interval)
	m.send(m.said())
}

// priorityChanged says a higher priority at once: somebody may be about to preempt the old one. A lower one can wait for the
// Adver_Timer. Whoever has a higher priority discards it, and waits from the advertisement before: one that comes early would
// only make an Active look alive for longer than it is waited for.
func (m *Machine) priorityChanged(now time.Time, old uint8) {
	switch {
	case m.state != Active || m.said() == old:
	case m.said() > old:
		m.advertise(now)
	default:
		if least := now.Add(lowerAfter); m.active.deadline.Before(least) {
			m.active.deadline = least
		}
	}
}

// onTick is the last tick that is not more than the interval from now; without ticks, or for an interval too short for
// them, its end. The wall clock only says which tick: when it is stepped, the next advertisement comes a little sooner, once.
func (p *parameters) onTick(now time.Time, interval time.Duration) time.Time {
	at := now.Add(interval)
	if p.cfg.Tick == 0 || p.cfg.Tick > interval/2 {
		return at
	}
	return at.Add(-time.Duration(at.UnixNano() % int64(p.cfg.Tick)))
}

// frozen reports whether the last advertisement is so long ago that a Backup of our own priority may have taken over.
func (a *active) frozen(now time.Time, p *parameters) bool {
	longest := p.activeDownInterval(a.interval)
	if p.cfg.Prompt {
		longest = p.missed(a.interval)
	}
	return now.Sub(a.sent) > longest
}

// activeReceived is RFC 9568, section 6.4.3, for an advertisement.
func (m *Machine) activeReceived(now time.Time, r Received) {
	if reason, lost := m.loses(r); lost && !r.Deaf {
		m.yield(now, r, reason)
		return
	}
	// Priority 0 comes from a router that was Active too: it is as much a rival as one that goes on.
	if m.active.mayAnswer(now, m.cfg.Interval) {
		m.advertise(now)
	}
	m.actions = append(m.actions, Reannounce{Rival: r.Source})
}

// mayAnswer keeps answers apart, and bounds them in the long run.
func (a *active) mayAnswer(now time.Time, interval time.Duration) bool {
	every := interval / answersEach
	if now.Sub(a.sent) < answerGap || a.answered.Sub(now) > (answerBurst-1)*every {
		return false
	}
	if a.answered.Before(now) {
		a.answered = now
	}
	a.answered = a.answered.Add(every)
	return true
}

// loses compares an advertisement with our own: by priority, then by address, unsigned and in network order.
func (p *parameters) loses(r Received) (Reason, bool) {
	switch priority := r.Advertisement.Priority; {
	case priority > p.said():
		return ReasonHigherPriority, true
	case priority == p.said() && r.Source.Compare(p.cfg.Source) > 0:
		return ReasonHigherAddress, true
	}
	return "", false
}

// yield gives the addresses up to the router that r came from, and then tells it that it had a rival.
func (m *Machine) yield(now time.Time, r Received, reason Reason) {
	m.enterBackup(now, reason)
	m.follow(now, r)
	m.final.start(now, m.said())
	m.sendFinal(now)
}
