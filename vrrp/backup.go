package vrrp

import (
	"net/netip"
	"time"
)

// backup is what a Backup knows. Its deadline is not stored but computed, so that every change of priority, tie-break delay or
// interval moves the running Active_Down_Timer without moving its start.
type backup struct {
	start    time.Time     // the Active_Down_Timer runs from here
	hold     time.Time     // and from here at the earliest (StartupDelay)
	interval time.Duration // Active_Adver_Interval
	gaveUp   bool          // priority 0 was heard, or the Active is deaf: the timer is Skew_Time alone, or among equals the rank
	deaf     bool          // it is the latter
	ready    Reason        // why it would be Active if it were not Grouped; empty while the timer runs
	late     bool          // the timer was served much too late, and started again
	ahead    bool          // start is in the future because of a claim
	bounded  bool          // the Active claims a longer interval than the one that was adopted
	asked    bool          // and was asked whether it is there, when the timer expired

	followed netip.Addr // source of the advertisement that last restarted the timer
	equals   Equals     // that it came with
	level    uint8      // its priority

	lower        bool      // a lower priority was heard and discarded since the timer started
	preemptSince time.Time // when PreemptDelay started; zero if it does not run
}

// reset forgets everything that was heard.
func (b *backup) reset(cfg Config) {
	*b = backup{interval: max(cfg.Interval, cfg.StartupInterval)}
}

// restart starts the Active_Down_Timer anew, never earlier than it has started already.
func (b *backup) restart(from time.Time) {
	if from.Before(b.start) && !b.ahead {
		from = b.start
	}
	if from.Before(b.hold) {
		from = b.hold
	}
	b.start, b.gaveUp, b.deaf, b.lower, b.late, b.ahead, b.asked, b.ready = from, false, false, false, false, false, false, ""
}

// backupDeadline is when the Active_Down_Timer expires.
func (m *Machine) backupDeadline() time.Time {
	d := m.turn()
	if !m.backup.gaveUp {
		d += m.missed(m.backup.interval)
	}
	if m.backup.asked {
		d += m.cfg.Interval
	}
	return m.backup.start.Add(d)
}

// enterBackup makes an Active a Backup with a fresh Active_Down_Timer and nobody to follow yet.
func (m *Machine) enterBackup(now time.Time, reason Reason) {
	m.backup.reset(m.cfg)
	m.backup.restart(now)
	m.change(now, Backup, reason)
}

// backupExpired sends what is due of the last advertisements, and takes over when the Active_Down_Timer has expired (RFC
// 9568, section 6.4.2).
func (m *Machine) backupExpired(now time.Time) {
	deadline := m.backupDeadline()
	if now.Before(deadline) || m.backup.ready != "" {
		if m.final.due(now) {
			m.sendFinal(now)
		}
		return
	}
	if now.Sub(deadline) > m.backup.interval && !m.backup.late {
		m.listenAgain(now)
		return
	}
	if m.backup.bounded && !m.backup.asked {
		m.ask()
		return
	}
	reason := ReasonSilence
	switch {
	case m.backup.deaf:
		reason = ReasonDeaf
	case m.backup.gaveUp:
		reason = ReasonPriorityZero
	case m.backup.lower:
		reason = ReasonPreempt
	}
	if m.cfg.Grouped {
		m.backup.ready = reason
		return
	}
	m.becomeActive(now, reason)
}

// takeOver ends the wait of a Grouped Backup.
func (m *Machine) takeOver(now time.Time) {
	if m.state == Backup && m.backup.ready != "" {
		m.becomeActive(now, m.backup.ready)
	}
}

// listenAgain gives a Backup that was frozen one more Active_Adver_Interval and its Skew_Time, once, before it takes over.
// The machine around it may have been paused as a whole, and the packets of that time lost: an Active that is alive is
// heard within an interval.
func (m *Machine) listenAgain(now time.Time) {
	missed := time.Duration(m.cfg.DownTimerAdverts-1) * m.backup.interval
	m.backup.restart(now.Add(-missed))
	m.backup.late = true
}

// backupReceived is RFC 9568, section 6.4.2, for an advertisement.
func (m *Machine) backupReceived(now time.Time, r Received) {
	switch {
	case r.Advertisement.Priority == priorityGiveUp, r.Deaf:
		m.activeGaveUp(now, r.Source, r.Deaf)
	case m.preempts(now, r.Advertisement.Priority) && !r.Deferred:
		m.backup.lower = true
	default:
		m.follow(now, r)
	}
}

// activeGaveUp sets the timer to Skew_Time, or among equals to the rank. Priority 0 from anybody but the Active that is followed says nothing about
// that Active, and is ignored: a third router that stops, or a forger, must not start a takeover. So it is with an Active that is deaf.
func (m *Machine) activeGaveUp(now time.Time, source netip.Addr, deaf bool) {
	if source != m.backup.followed {
		return
	}
	m.backup.restart(now)
	m.backup.gaveUp, m.backup.deaf, m.backup.bounded = true, deaf, false
	m.backup.followed = netip.Addr{}
	if deaf {
		m.backup.equals = Equals{} // its lease runs on
	}
	m.backup.preemptSince = time.Time{}
}

// preempts reports whether an advertisement of the given priority is to be discarded, so that the Active_Down_Timer
// runs on and this Backup takes over.
func (m *Machine) preempts(now time.Time, priority uint8) bool {
	if priority >= m.priority {
		m.backup.preemptSince = time.Time{}
		return false
	}
	if !m.cfg.Preempt {
		return false
	}
	if m.backup.preemptSince.IsZero() {
		m.backup.preemptSince = now
	}
	return now.Sub(m.backup.preemptSince) >= m.cfg.PreemptDelay
}

// follow accepts an advertisement as the Active's: adopts its interval ([Config.LongestInterval]) and restarts the Active_Down_Timer.
func (m *Machine) follow(now time.Time, r Received) {
	m.backup.interval = m.adopt(now, r)
	m.backup.followed, m.backup.equals, m.backup.level = r.Source, r.Equals, r.Advertisement.Priority
	age := min(max(r.Age, 0), m.backup.interval)
	m.backup.restart(now.Add(-age))
}
