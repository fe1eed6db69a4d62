package agent

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"time"

	"github.com/keepvip/keepvip/election"
)

// errNotHeld answers a request that only the holder can fulfil.
var errNotHeld = errors.New("this node does not hold the address")

// follow makes the host what the election has decided. An error for Serve makes the elector resign; one for Quiet says that
// nothing has changed.
func (l *loop) follow(d election.Decision) error {
	if !l.shared && d.Holder.IsValid() && d.Holder != l.place.Source {
		l.shared = true
		defer l.fit() // what forbids a first bind counts no more
	}
	defer func() { l.updateMembers(time.Now()) }()
	if d.Role == election.Quiet {
		if l.role != election.Serve {
			return nil
		}
		if err := l.passOn(d); err != nil {
			return err
		}
		l.role = d.Role
		return nil
	}
	err := l.enterRole(d)
	l.role = d.Role
	return err
}

func (l *loop) enterRole(d election.Decision) error {
	switch {
	case d.Role == election.Serve && l.role == election.Serve:
		return l.heardRival(d)
	case d.Role == election.Serve:
		return l.take(d)
	case l.role == election.Serve:
		return l.release(d)
	case l.role == election.Quiet && d.Role == election.Standby:
		return l.passed(d)
	default:
		return l.stand(d)
	}
}

// take binds and announces: the announcement is on the wire before anything that can wait.
func (l *loop) take(d election.Decision) error {
	err := l.refuse()
	if err == nil {
		l.guard()
		err = l.lapsed()
	}
	if err == nil {
		err = l.bind()
	}
	if err != nil {
		return errors.Join(err, l.unbound())
	}
	l.shared = true
	l.note(d.Role.State(), d.Reason)
	if d.Granted {
		l.host.Usable(l.in.hosts(), usableTime)
		l.startForwarding()
	}
	l.takenBack()
	l.announceFrom = time.Time{}
	l.restartAnnouncing()
	l.renewal = l.in.renewAfter(time.Now())
	l.adopting = false
	l.logDecision(d)
	l.settle(holdBind) // strays of ours on other interfaces
	return nil
}

// guard makes sure that there is a guard in the kernel before the addresses are there: a process that is killed in the moment after must not
// leave them answering. As a rule it is in place since this node stands by. Where it is not, the addresses wait for it, but not so long
// that the lease is over before they are bound.
func (l *loop) guard() {
	if l.fence == nil || l.fence.take(min(patience, l.in.Lease/6)) {
		return
	}
	l.log.Warn("the address is bound before the fence is in place", "reason", errSlow.Error())
}

// unbound takes back what could not be taken whole.
func (l *loop) unbound() error {
	err := l.unbind()
	if l.fence != nil {
		l.fence.release()
	}
	return err
}

// errLapsed: this process stood still after its first advertisement, and another node may have taken over since.
var errLapsed = errors.New("the lease was over before the address was bound")

// lapsed tells whether the lease that the first advertisement began is over. An elector whose lease has not begun yet has none.
func (l *loop) lapsed() error {
	if end := l.elector.LeaseEnd(); !end.IsZero() && !time.Now().Before(end) {
		return errLapsed
	}
	return nil
}

// bind adds every address, also where it is thought to be bound: what was seen last may be stale.
func (l *loop) bind() error {
	if err := l.host.Bind(l.place.Index, l.in.Addresses, l.in.Valid()); err != nil {
		return fmt.Errorf("bind %s to %s: %w", l.in.title(), l.place.Name, err)
	}
	return nil
}

func (l *loop) release(d election.Decision) error {
	l.reannounce.stop()
	l.in.Schedule.Stop()
	err := l.letGo()
	l.note(d.Role.State(), d.Reason)
	l.logDecision(d)
	return err
}

// unbind removes every address from the place, whatever was seen last, and from wherever else it is.
func (l *loop) unbind() error {
	l.adopting = false
	err := l.host.Unbind(l.place.Index, l.in.Addresses)
	if err != nil {
		err = fmt.Errorf("remove %s from %s: %w", l.in.title(), l.place.Name, err)
	}
	l.settle(holdNone)
	return err
}

// heardRival announces after a rival was heard: whoever remains Active announces last.
func (l *loop) heardRival(d election.Decision) error {
	if !d.Rival {
		return nil
	}
	announce, first := l.reannounce.hear(time.Now(), d.Again)
	if announce {
		l.send()
	}
	if first {
		l.logDecision(d)
	}
	return nil
}

// stand is every change that this node is not the Active of.
func (l *loop) stand(d election.Decision) error {
	leftover := l.adopting
	if d.Holder.IsValid() || d.Role == election.Off {
		l.adopting = false
	}
	var err error
	if d.Role == election.Off {
		err = l.passed(d)
	}
	l.settle(l.wanted(d.Role.State()))
	if leftover && !l.adopting && l.fence != nil {
		l.fence.release()
	}
	// A state that was entered with nobody in sight has another reason as soon as somebody is.
	if l.role.State() != d.Role.State() || l.alone || !d.Holder.IsValid() {
		l.note(d.Role.State(), d.Reason)
		l.alone = !d.Holder.IsValid()
	}
	l.logDecision(d)
	return err
}

const (
	// mostLines is how many lines of one kind that others can bring about are written in a minute.
	mostLines = 10
	// mostChanges is the same for changes of this node's state, each of which is an event of its own.
	mostChanges = 60
)

// line writes a line that a flood could bring about again and again.
func (l *loop) line(level slog.Level, text string, most int, args ...any) {
	if left, ok := l.lines.May(time.Now(), text, most); ok {
		l.log.Log(context.Background(), level, text, election.LeftOut(args, left)...)
	}
}

// logDecision is called before the role is the new one.
func (l *loop) logDecision(d election.Decision) {
	from, to := l.role.State(), d.Role.State()
	args := []any{"from", from.String(), "to", to.String(), "reason", d.Reason}
	if d.Holder.IsValid() {
		args = append(args, "holder", d.Holder.String())
	}
	if d.Cause != "" {
		args = append(args, "cause", d.Cause)
	}
	text, level, most := "holder changed", slog.LevelInfo, mostLines
	switch {
	case from != to:
		text, most = "state changed", mostChanges
	case to == election.Active:
		text, level = "announced again after a rival", slog.LevelWarn
	}
	l.line(level, text, most, args...)
}

// wanted is what this instance wants of its addresses in a state.
func (l *loop) wanted(s election.State) holding {
	switch {
	case s == election.Active:
		return holdBind
	case l.adopting, l.passing:
		return holdKeep
	default:
		return holdNone
	}
}

// correct makes the host what it should be after a change that somebody else made.
func (l *loop) correct() {
	if l.state() == election.Active && !l.holdsLease() || !l.away.IsZero() {
		return
	}
	if l.settle(l.wanted(l.state())) {
		l.restored()
	}
}

func (l *loop) state() election.State {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.view.state
}

// settle plans and carries out, and tells whether it added an address. What cannot be done now is tried
// again at the next event.
func (l *loop) settle(want holding) bool {
	var missing []netip.Prefix
	for _, s := range plan(want, l.place.Index, l.in.Addresses, l.host.Bound(l.in.Addresses)) {
		if s.add {
			missing = append(missing, s.Prefix)
		} else {
			l.uncorrected(l.host.Unbind(s.Index, []netip.Prefix{s.Prefix}))
		}
	}
	if len(missing) == 0 {
		return false
	}
	err := l.host.Bind(l.place.Index, missing, l.in.Valid())
	l.uncorrected(err)
	return err == nil
}

func (l *loop) uncorrected(err error) {
	if err != nil {
		l.log.Warn("address not corrected", "error", err)
	}
}

// restored announces an address that somebody else had taken away.
func (l *loop) restored() {
	l.log.Warn("address restored", "interface", l.place.Name)
	l.mu.Lock()
	l.view.restored++
	l.mu.Unlock()
	l.restartAnnouncing()
}
