package vrrp

import (
	"net/netip"
	"time"
)

// Machine is the state machine of one Virtual Router (RFC 9568, section 6.4), pure: it has no clock and does no I/O.
// Make one with [NewMachine]. It is not safe for concurrent use.
type Machine struct {
	parameters

	state  State
	since  time.Time
	reason Reason

	backup backup
	active active
	claim  claim
	final  finalAdverts

	actions []Action
}

// NewMachine returns a Machine in Initialize. The error is [Config.Validate]'s.
func NewMachine(cfg Config) (*Machine, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	m := &Machine{parameters: parameters{cfg: cfg.normalized(), priority: cfg.Priority}}
	m.backup.reset(m.cfg)
	return m, nil
}

// Step handles one event at time now and returns the actions to carry out in order. The slice is valid until the next
// Step. now must not run backwards; take it from [time.Now], whose monotonic reading is used. An Active first
// compares now with its last advertisement, whatever the event: if more than its Active_Down_Interval has passed (see
// [Config.Prompt]), it was frozen, somebody else may have taken over, and it becomes Backup.
func (m *Machine) Step(now time.Time, ev Event) []Action {
	clear(m.actions)
	m.actions = m.actions[:0]
	if m.state == Active && m.active.frozen(now, &m.parameters) {
		m.enterBackup(now, ReasonFrozen)
	}
	switch ev := ev.(type) {
	case Startup:
		m.startup(now)
	case Shutdown:
		m.shutdown(now, ev.Reason)
	case Expired:
		m.expired(now)
	case Received:
		m.received(now, ev)
	case Claimed:
		m.claimed(now, ev)
	case Disclaimed:
		m.backup.disclaimed(now, ev.Source.WithZone(""))
	case PassOn:
		m.passOn(now)
	case Granted:
		if m.state == Backup {
			m.becomeActive(now, ReasonGranted)
		}
	case Gone:
		m.gone(now, ev)
	case Assert:
		m.assert(now)
	case SetPriority:
		old := m.said()
		m.setPriority(ev.Priority)
		m.priorityChanged(now, old)
	case SetLast:
		old := m.said()
		m.last = ev.On
		m.priorityChanged(now, old)
	case SetTieBreakDelay:
		m.offset = max(ev.Offset, 0)
	case TakeOver:
		m.takeOver(now)
	case Reconfigure:
		m.reconfigure(now, ev.Config)
	}
	return m.actions
}

// Deadline returns when Expired is due next, and false if no timer runs.
func (m *Machine) Deadline() (time.Time, bool) {
	switch m.state {
	case Backup:
		next, ok := m.final.deadline()
		if down := m.backup.deadline(&m.parameters); m.backup.ready == "" && (!ok || down.Before(next)) {
			return down, true
		}
		return next, ok
	case Active:
		return m.active.deadline, true
	}
	return time.Time{}, false
}

// startup is RFC 9568, section 6.4.1.
func (m *Machine) startup(now time.Time) {
	if m.state != Initialize {
		return
	}
	m.backup.reset(m.cfg)
	owner := m.priority == priorityOwner
	if owner && !m.cfg.Grouped {
		m.becomeActive(now, ReasonOwner)
		return
	}
	m.backup.hold = now.Add(m.cfg.StartupDelay)
	m.backup.restart(now)
	m.change(now, Backup, ReasonStarted)
	if owner {
		m.backup.ready = ReasonOwner
	}
}

// shutdown is the Shutdown clause of RFC 9568, sections 6.4.2 and 6.4.3, with one difference: the state changes, and so
// the addresses are off, before priority 0 invites the others to bind them.
func (m *Machine) shutdown(now time.Time, reason Reason) {
	if m.state == Initialize {
		return
	}
	if reason == "" {
		reason = ReasonShutdown
	}
	wasActive := m.state == Active
	m.final.stop()
	m.change(now, Initialize, reason)
	if wasActive {
		m.send(priorityGiveUp)
	}
	m.backup.reset(m.cfg)
}

func (m *Machine) expired(now time.Time) {
	switch m.state {
	case Backup:
		m.backupExpired(now)
	case Active:
		if !now.Before(m.active.deadline) {
			m.advertise(now)
		}
	}
}

func (m *Machine) received(now time.Time, r Received) {
	r.Source = r.Source.WithZone("")
	// Our own source address means our own packet looped back, or a duplicate of our address. Neither may move us.
	if m.cfg.Match(r.Source, r.Advertisement) != nil || r.Source == m.cfg.Source {
		return
	}
	switch m.state {
	case Backup:
		m.backupReceived(now, r)
	case Active:
		m.activeReceived(now, r)
	}
}

// change records and emits a change of state.
func (m *Machine) change(now time.Time, to State, reason Reason) {
	m.actions = append(m.actions, Change{From: m.state, To: to, Reason: reason})
	m.state, m.since, m.reason = to, now, reason
}

func (m *Machine) send(priority uint8) {
	m.actions = append(m.actions, Send{Advertisement: m.cfg.advertisement(priority)})
}

// Snapshot is a Machine's state for an operator to read.
type Snapshot struct {
	State    State
	Since    time.Time // when State was entered; zero if Startup never came
	Reason   Reason    // why
	Priority uint8     // effective
	Ready    bool      // a Grouped Backup whose Active_Down_Timer has expired

	Followed netip.Addr // source of the Active that this Backup follows; the zero Addr if none

	ActiveAdverInterval time.Duration // Active_Adver_Interval
	ActiveDownInterval  time.Duration // Active_Down_Interval, without the tie-break delay
}

// Snapshot returns the present state.
func (m *Machine) Snapshot() Snapshot {
	return Snapshot{
		State: m.state, Since: m.since, Reason: m.reason, Priority: m.priority,
		Ready:    m.state == Backup && m.backup.ready != "",
		Followed: m.backup.followed, ActiveAdverInterval: m.backup.interval,
		ActiveDownInterval: m.activeDownInterval(m.backup.interval),
	}
}
