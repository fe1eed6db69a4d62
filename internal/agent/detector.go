package agent

import (
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net/netip"
	"slices"
	"sync"
	"time"

	"github.com/keepvip/keepvip/election"
)

const (
	// claimsQueued is how many claims may wait for the loop. More are dropped: who means it says it again.
	claimsQueued = 64
	// ownerPriority is an address owner's: it waits for a dead holder almost no longer than a lease lasts
	// (RFC 9568 sections 5.2.4 and 6.1).
	ownerPriority = 255
	// mostOwners bounds what a flood of invented owners can make this node remember.
	mostOwners = 64
	// membersEvery is how often the members that are listened to change at most: a forger invents one with each packet.
	membersEvery = 100 * time.Millisecond
)

// detector looks for hosts outside the election that claim an address, during one term. It belongs to the loop's goroutine.
type detector struct {
	foreignHosts
	probes         probeSchedule
	claims         chan Claim
	virtual        listener
	members        listener
	until          time.Time           // the end of the probes before the first bind, where the election would not wait for it
	again          time.Time           // when a claim that forbids the first bind is looked into next
	membersChanged time.Time           // when the members changed last
	membersDue     time.Time           // when they are to be looked at again; zero for never
	owners         map[netip.Addr]bool // that were warned about
}

// listener hears claims to some addresses.
type listener struct {
	addresses []netip.Addr
	stop      func() // nil: there is none
}

// startDetector begins to look for foreign hosts.
func (l *loop) startDetector() {
	now := time.Now()
	l.detector = &detector{
		foreignHosts: newForeignHosts(l.in.VRID, now.Add(l.in.Lease)), probes: newProbeSchedule(now, l.in.hosts(), l.in.Crowd), claims: make(chan Claim, claimsQueued),
		again: now.Add(probeToBind), owners: map[netip.Addr]bool{},
	}
	l.listen(&l.detector.virtual, l.in.hosts())
	l.updateMembers(now)
	if first := l.in.ProbeFirst && !l.shared; first && l.in.Lease < probeWindow && len(l.host.Bound(l.in.Addresses)) == 0 {
		l.detector.until = now.Add(probeWindow)
	}
	l.probeDue(now)
	l.fit()
}

// stopDetector ends it.
func (l *loop) stopDetector() {
	l.listen(&l.detector.virtual, nil)
	l.listen(&l.detector.members, nil)
	l.detector = nil
	l.showConflicts(nil)
}

// listen makes li hear claims to these addresses instead of those before.
func (l *loop) listen(li *listener, addresses []netip.Addr) {
	if slices.Equal(li.addresses, addresses) {
		return
	}
	if li.stop != nil {
		li.stop()
	}
	*li = listener{}
	if len(addresses) == 0 {
		return
	}
	claims := l.detector.claims
	report := func(c Claim) bool {
		select {
		case claims <- c:
			return true
		default:
			return false
		}
	}
	if li == &l.detector.members {
		report = changes(report)
	}
	stop := l.host.Listen(l.place, addresses, func(c Claim) { report(c) })
	*li = listener{addresses: addresses, stop: stop}
}

// changes reports only what a claim to a member's own address tells anew, its MAC: many instances hear every answer to any of
// them. What could not be reported is new still.
func changes(report func(Claim) bool) func(Claim) bool {
	var mu sync.Mutex
	last := map[netip.Addr]string{} // no more than there are members
	return func(c Claim) bool {
		mu.Lock()
		defer mu.Unlock()
		if last[c.Address] == c.MAC {
			return true
		}
		if !report(c) {
			return false
		}
		last[c.Address] = c.MAC
		return true
	}
}

// updateMembers takes over who the members are. One that is only expected is none: if it has the address, then not by this election.
func (l *loop) updateMembers(now time.Time) {
	var addresses []netip.Addr
	for _, m := range l.elector.Status().Members {
		if m.Self || m.Silent || m.State == election.Initialize {
			continue
		}
		addresses = append(addresses, m.Address)
		if m.Priority == ownerPriority && !l.detector.owners[m.Address] {
			if len(l.detector.owners) >= mostOwners {
				clear(l.detector.owners)
			}
			l.detector.owners[m.Address] = true
			l.line(slog.LevelWarn, "an address owner (priority 255) may answer before the lease of another holder has ended", mostLines, "member", m.Address.String())
		}
	}
	slices.SortFunc(addresses, netip.Addr.Compare)
	addresses = slices.DeleteFunc(slices.Compact(addresses), func(a netip.Addr) bool {
		return a == l.place.Source || slices.Contains(l.detector.virtual.addresses, a)
	})
	if at := l.detector.membersChanged.Add(membersEvery); now.Before(at) {
		l.detector.membersDue = at
		return
	}
	l.detector.membersDue = time.Time{}
	if l.detector.setMembers(now, addresses) {
		l.detector.membersChanged = now
		l.listen(&l.detector.members, addresses)
	}
}

// claimHeard takes in a claim.
func (l *loop) claimHeard(c Claim) {
	now := time.Now()
	l.updateMembers(now)
	_, suspected := l.detector.suspect()
	foreign, member := l.detector.hear(now, c)
	_, suspect := l.detector.suspect()
	if cleared := l.detector.cleared(); cleared || suspect != suspected {
		l.showConflicts(l.detector.conflicts())
		l.fit()
	}
	if foreign {
		l.showConflicts(l.detector.conflicts())
		l.defend(now)
	}
	if member.IsValid() {
		l.announceAfterRival(now, member)
	}
}

// announceAfterRival announces after a member that became Active too and will have to yield: where advertisements are lost, its
// announcement may be all that is heard of it.
func (l *loop) announceAfterRival(now time.Time, rival netip.Addr) {
	if l.passing || !l.holdsLease() || !outranks(l.elector.Status().Members, rival) {
		return
	}
	if announce, _ := l.reannounce.hear(now, l.in.Lease/reannounceRounds); announce {
		l.send()
	}
}

// outranks tells whether this node would remain Active beside a rival (RFC 9568 section 6.4.3). One whose priority was
// never heard is taken for equal.
func outranks(members []election.Member, rival netip.Addr) bool {
	var own, other election.Member
	for _, m := range members {
		switch {
		case m.Self:
			own = m
		case m.Address == rival:
			other = m
		}
	}
	if other.Priority != 0 && other.Priority != own.Priority {
		return own.Priority > other.Priority
	}
	return own.Address.Compare(rival) > 0
}

// defend announces against a foreign host while this node holds the addresses and does not yield.
func (l *loop) defend(now time.Time) {
	if !l.in.Yield && l.holdsLease() && l.detector.defend(now) {
		l.restartAnnouncing()
	}
}

// detectDue does what is due of the conflict detection.
func (l *loop) detectDue(now time.Time) {
	if l.detector == nil {
		return
	}
	if at := l.detector.membersDue; !at.IsZero() && !now.Before(at) {
		l.updateMembers(now)
	}
	l.probeDue(now)
	forget := foreignForget
	if l.refuse() != nil {
		forget = vacantAfter
	}
	_, suspected := l.detector.suspect()
	begun, over := l.detector.review(now, forget)
	_, suspect := l.detector.suspect()
	for _, c := range over {
		l.line(slog.LevelInfo, "nobody outside the election claims the address any more", mostLines, "address", c.Address.String(), "mac", c.MAC)
	}
	for _, c := range begun {
		l.line(slog.LevelWarn, "a host outside the election claims the address", mostLines, "address", c.Address.String(), "mac", c.MAC)
	}
	if len(begun)+len(over) > 0 || suspect != suspected {
		l.showConflicts(l.detector.conflicts())
		l.detector.probes.bringForward(now)
		l.fit()
		if len(begun) > 0 {
			l.defend(now)
		}
	}
	if l.detector.over(now) {
		l.fit()
	}
}

// over ends the probes before the first bind.
func (o *detector) over(now time.Time) bool {
	if o.until.IsZero() || now.Before(o.until) {
		return false
	}
	o.until = time.Time{}
	return true
}

// probeDue sends the probes and questions that are due.
func (l *loop) probeDue(now time.Time) {
	ask := l.detector.question(now)
	if due := l.detector.probes.due(now, rand.Float64(), len(l.detector.conflicts()) > 0); len(due) > 0 {
		l.updateMembers(now)
		ask = append(ask, due...)
	}
	if l.refuse() != nil && !now.Before(l.detector.again) {
		l.detector.again = now.Add(probeToBind)
		ask = append(ask, l.detector.suspects()...)
	}
	if len(ask) == 0 {
		return
	}
	if err := l.host.Probe(l.place, ask); err != nil {
		l.log.Debug("probe not sent", "interface", l.place.Name, "error", err)
	}
}

// nextDetection is when detectDue has something to do.
func (l *loop) nextDetection() []time.Time {
	if l.detector == nil {
		return nil
	}
	due := []time.Time{l.detector.probes.next, l.detector.next(foreignForget), l.detector.until, l.detector.membersDue}
	if l.refuse() != nil {
		due = append(due, l.detector.again, l.detector.next(vacantAfter))
	}
	return due
}

// barred is why this node must not have the addresses now; empty when it may.
func (l *loop) barred() string {
	if l.detector == nil {
		return ""
	}
	conflicts := l.detector.conflicts()
	refused := l.refuse()
	switch {
	case len(conflicts) > 0 && l.in.Yield:
		return "yielded: " + claimText(conflicts[0])
	case len(conflicts) > 0 && refused != nil:
		return refused.Error()
	case !l.detector.until.IsZero():
		return "asking the link whether anybody has the address"
	}
	return ""
}

// refuse is the error of a first bind that somebody else's claim forbids. It need not be reported yet: a
// node that said it was Active before it refused would be taken for a holder by the others.
func (l *loop) refuse() error {
	if l.detector == nil || !l.in.ProbeFirst || l.shared {
		return nil
	}
	if c, ok := l.detector.suspect(); ok {
		return fmt.Errorf("refused: %s", claimText(c))
	}
	return nil
}

func claimText(c Conflict) string {
	return fmt.Sprintf("%s is claimed by %s, which takes no part in the election", c.Address, c.MAC)
}

// fit tells the elector how fit this node is.
func (l *loop) fit() {
	if l.elector == nil {
		return
	}
	f := l.desired.fitness(l.in.fitness(l.checks.verdicts))
	if reason := l.barred(); reason != "" {
		f = election.Fitness{Out: true, Less: lastPlace, Reason: reason}
	} else if err := l.refuse(); err != nil && !f.Out {
		// A claim that is not reported yet is most likely that of a holder whose next advertisement will say so.
		f.Wait, f.Reason = true, err.Error()
	}
	l.elector.SetFitness(f)
}

func (l *loop) showConflicts(c []Conflict) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.view.conflicts = c
}

// adjustDetector takes over new addresses and policies.
func (l *loop) adjustDetector() {
	hosts := l.in.hosts()
	if !slices.Equal(l.detector.virtual.addresses, hosts) {
		l.detector.probes = newProbeSchedule(time.Now(), hosts, l.in.Crowd)
		l.listen(&l.detector.virtual, hosts)
	}
	l.fit()
}
