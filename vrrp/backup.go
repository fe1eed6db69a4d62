package vrrp

import (
	"net/netip"
	"time"
)

// tieBreakShare is the part of the Active_Adver_Interval that a tie-break delay may take at most.
const tieBreakShare = 8

// rankTime is the time between the turns of two equals: that of a packet, of a wakeup, and of what a busy machine adds.
const rankTime = 4 * time.Millisecond

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

// turn is what a Backup waits when the Active is silent, or has given up: Skew_Time puts routers of different
// priorities in an order, and the tie-break delay those of the same. Where all are known and equal, their rank alone
// does, so close together that the last has no longer to wait than Skew_Time.
func (b *backup) turn(p *parameters) time.Duration {
	skew := p.skewTime(b.interval)
	if e := b.equals; e.Of > 0 && b.level == p.priority {
		return time.Duration(e.Rank) * min(rankTime, skew/time.Duration(e.Of))
	}
	return skew + min(p.offset, b.interval/tieBreakShare)
}

// deadline is when the Active_Down_Timer expires.
func (b *backup) deadline(p *parameters) time.Time {
	d := b.turn(p)
	if !b.gaveUp {
		d += p.missed(b.interval)
	}
	if b.asked {
		d += p.cfg.Interval
	}
	return b.start.Add(d)
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
	deadline := m.backup.deadline(&m.parameters)
	if now.Before(deadline) || m.backup.ready != "" {
		if m.final.due(now) {
			m.sendFinal(now)
		}
		return
	}
	if now.Sub(deadline) > m.backup.interval && !m.backup.late {
		m.backup.listenAgain(now, &m.parameters)
		return
	}
	if m.backup.bounded && !m.backup.asked {
		// The Active may advertise less often than it is waited for. One that is alive answers at once (section 6.4.3), and has then said its
		// interval twice; one of lower priority yields.
		m.backup.asked = true
		m.send(m.priority)
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
func (b *backup) listenAgain(now time.Time, p *parameters) {
	missed := time.Duration(p.cfg.DownTimerAdverts-1) * b.interval
	b.restart(now.Add(-missed))
	b.late = true
}

// backupReceived is RFC 9568, section 6.4.2, for an advertisement.
func (m *Machine) backupReceived(now time.Time, r Received) {
	switch {
	case r.Advertisement.Priority == priorityGiveUp, r.Deaf:
		m.backup.activeGaveUp(now, r.Source, r.Deaf)
	case m.backup.preempts(now, &m.parameters, r.Advertisement.Priority) && !r.Deferred:
		m.backup.lower = true
	default:
		m.follow(now, r)
	}
}

// activeGaveUp sets the timer to Skew_Time, or among equals to the rank. Priority 0 from anybody but the Active that is followed says nothing about
// that Active, and is ignored: a third router that stops, or a forger, must not start a takeover. So it is with an Active that is deaf.
func (b *backup) activeGaveUp(now time.Time, source netip.Addr, deaf bool) {
	if source != b.followed {
		return
	}
	b.restart(now)
	b.gaveUp, b.deaf, b.bounded = true, deaf, false
	b.followed = netip.Addr{}
	if deaf {
		b.equals = Equals{} // its lease runs on
	}
	b.preemptSince = time.Time{}
}

// preempts reports whether an advertisement of the given priority is to be discarded, so that the Active_Down_Timer
// runs on and this Backup takes over.
func (b *backup) preempts(now time.Time, p *parameters, priority uint8) bool {
	if priority >= p.priority {
		b.preemptSince = time.Time{}
		return false
	}
	if !p.cfg.Preempt {
		return false
	}
	if b.preemptSince.IsZero() {
		b.preemptSince = now
	}
	return now.Sub(b.preemptSince) >= p.cfg.PreemptDelay
}

// follow accepts an advertisement as the Active's: adopts its interval ([Config.LongestInterval]) and restarts the Active_Down_Timer.
func (m *Machine) follow(now time.Time, r Received) {
	m.backup.interval, m.backup.bounded = m.claim.adopt(now, &m.cfg, r.Advertisement.Interval)
	m.backup.followed, m.backup.equals, m.backup.level = r.Source, r.Equals, r.Advertisement.Priority
	age := min(max(r.Age, 0), m.backup.interval)
	m.backup.restart(now.Add(-age))
}
