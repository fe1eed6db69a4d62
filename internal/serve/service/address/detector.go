package address

import (
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net/netip"
	"slices"
	"time"

	"github.com/keepvip/keepvip/election"
	"github.com/keepvip/keepvip/internal/base/code"
	"github.com/keepvip/keepvip/internal/serve/instance"
)

const (
	// claimsQueued is how many claims may wait for the service. More are dropped: who means it says it again.
	claimsQueued = 16
	// ownerPriority is an address owner's: it waits for a dead holder almost no longer than a lease lasts
	// (RFC 9568 sections 5.2.4 and 6.1).
	ownerPriority = 255
	// mostOwners bounds what a flood of invented owners can make this node remember.
	mostOwners = 64
	// membersEvery is how often the members that are listened to change at most: a forger invents one with each packet.
	membersEvery = 100 * time.Millisecond
	// formerBeyond is how much longer than an address lives the kernel of a member may answer for it after that was heard last: the time
	// between two of its messages, and what the kernel is late.
	formerBeyond = 3 * time.Second
)

// detector looks for hosts outside the election that claim an address, during one term, and for members that announce it beside this
// node. It belongs to the service's goroutine.
type detector struct {
	*core
	announcer *announcer
	report    func(election.Fitness) // of what keeps this node from having the addresses

	foreignHosts
	overhearing
	probes         probeSchedule
	answers        answering
	told           netip.Addr // the holder that does not answer, as the elector was told
	toldTimes      int        // and how many times
	heard          chan Claim
	virtual        listener
	members        listener
	until          time.Time           // the end of the probes before the first bind, where the election would not wait for it
	again          time.Time           // when a claim that forbids the first bind is looked into next
	membersChanged time.Time           // when the members changed last
	membersDue     time.Time           // when they are to be looked at again; zero for never
	formerDue      time.Time           // when to ask whether one that has left still answers; zero for never
	owners         map[netip.Addr]bool // that were warned about
}

// listener hears claims to some addresses.
type listener struct {
	addresses []netip.Addr
	stop      func() // nil: there is none
}

// begin begins to look.
func (d *detector) begin() {
	now := time.Now()
	d.foreignHosts = newForeignHosts(d.cfg.VRID, now.Add(d.cfg.Lease), d.cfg.Valid()+formerBeyond)
	d.overhearing = newOverhearing()
	d.probes, d.heard = newProbeSchedule(now, d.cfg.hosts(), d.cfg.Crowd), make(chan Claim, claimsQueued)
	d.again, d.owners = now.Add(probeToBind), map[netip.Addr]bool{}
	d.listen(&d.virtual, d.cfg.hosts())
	d.updateMembers(now)
	if first := d.cfg.ProbeFirst && !d.shared; first && d.cfg.Lease < probeWindow && len(d.host.Bound(d.cfg.Addresses)) == 0 {
		d.until = now.Add(probeWindow)
	}
	d.probeDue(now)
	d.judge()
}

// end ends it.
func (d *detector) end() {
	d.listen(&d.virtual, nil)
	d.listen(&d.members, nil)
	d.stop()
	d.show(nil)
}

// listen makes li hear claims to these addresses instead of those before.
func (d *detector) listen(li *listener, addresses []netip.Addr) {
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
	claims := d.heard
	report := func(c Claim) bool {
		select {
		case claims <- c:
			return true
		default:
			return false
		}
	}
	if li == &d.members {
		*li = listener{addresses, d.host.ListenChanges(d.place, addresses, report)}
	} else {
		*li = listener{addresses, d.host.Listen(d.place, addresses, func(c Claim) { report(c) })}
	}
}

// updateMembers takes over who the members are. One that is only expected is none: if it has the address, then not by this election. Nor is one
// that is not heard any more.
func (d *detector) updateMembers(now time.Time) {
	var addresses []netip.Addr
	status := d.elector.Status()
	members := status.Members
	d.followHolder(now, status)
	for _, m := range members {
		if m.Self || m.State == election.Silent || m.Unheard || m.State == election.Initialize {
			continue
		}
		addresses = append(addresses, m.Address)
		if m.Priority == ownerPriority && !d.owners[m.Address] {
			if len(d.owners) >= mostOwners {
				clear(d.owners)
			}
			d.owners[m.Address] = true
			d.line(slog.LevelWarn, "an address owner (priority 255) may answer before the lease of another holder has ended", "member", m.Address.String())
		}
	}
	slices.SortFunc(addresses, netip.Addr.Compare)
	addresses = slices.DeleteFunc(slices.Compact(addresses), func(a netip.Addr) bool {
		return a == d.place.Source || slices.Contains(d.virtual.addresses, a)
	})
	if at := d.membersChanged.Add(membersEvery); now.Before(at) {
		d.membersDue = at
		return
	}
	d.membersDue = time.Time{}
	if d.setMembers(now, addresses) {
		d.membersChanged = now
		d.listen(&d.members, addresses)
	}
	for _, m := range members {
		if (m.State == election.Silent || m.Unheard) && !m.LastHeard.IsZero() {
			d.known.heard(m.Address, m.LastHeard)
		}
	}
}

// lookAgain has whoever was a member until now be asked for, once a dead one cannot answer any more: one that answers then lives, and
// refuses what this node says, as with another key.
func (d *detector) lookAgain(now time.Time) {
	if d.formerDue.IsZero() {
		d.formerDue = now.Add(d.outlives)
	}
}

// formerAsked is what to ask for now because of those that have left.
func (d *detector) formerAsked(now time.Time) []netip.Addr {
	if d.formerDue.IsZero() || now.Before(d.formerDue) {
		return nil
	}
	d.formerDue = time.Time{}
	d.updateMembers(now)
	if !d.known.former() {
		return nil
	}
	hosts := d.cfg.hosts()
	return hosts[:min(len(hosts), perProbe)] // they move together
}

// claimHeard takes in a claim.
func (d *detector) claimHeard(c Claim) {
	now := time.Now()
	d.updateMembers(now)
	_, suspected := d.suspect()
	foreign, member := d.hear(now, c)
	if slices.Contains(d.virtual.addresses, c.Address) {
		d.answers.claim(now, c)
		d.tellAnswers()
	}
	_, suspect := d.suspect()
	if cleared := d.cleared(); cleared || suspect != suspected {
		d.show(d.conflicts())
		d.judge()
	}
	if foreign {
		d.show(d.conflicts())
		d.defendNow(now)
	}
	if member.IsValid() {
		d.announceAfterRival(member)
	}
}

// announceAfterRival announces after a member that became Active too and will have to yield: where advertisements are lost, its
// announcement may be all that is heard of it.
func (d *detector) announceAfterRival(rival netip.Addr) {
	if d.passing || !d.holdsLease() {
		return
	}
	d.lookAgain(time.Now())
	if !outranks(d.elector.Status().Members, rival) {
		return
	}
	d.announcer.afterRival(d.cfg.Lease / reannounceRounds)
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

// defendNow announces once against a foreign host while this node holds the addresses and does not yield. A node whose link was gone has
// an announcement ahead of it, which it must not bring forward.
func (d *detector) defendNow(now time.Time) {
	if !d.cfg.Yield && d.holdsLease() && !now.Before(d.announcer.from) && d.defend(now) {
		d.announcer.send()
	}
}

// due does what is due.
func (d *detector) due(now time.Time) {
	if at := d.membersDue; !at.IsZero() && !now.Before(at) {
		d.updateMembers(now)
	}
	d.probeDue(now)
	forget := foreignForget
	if d.refuse() != nil {
		forget = vacantAfter
	}
	_, suspected := d.suspect()
	begun, over := d.review(now, forget)
	_, suspect := d.suspect()
	for _, c := range over {
		d.line(slog.LevelInfo, "nobody outside the election claims the address any more", "address", c.Address.String(), "mac", c.MAC)
	}
	for _, c := range begun {
		d.line(slog.LevelWarn, "a host outside the election claims the address", "address", c.Address.String(), "mac", c.MAC)
		d.overhear(c)
	}
	if len(begun)+len(over) > 0 || suspect != suspected {
		d.show(d.conflicts())
		d.probes.bringForward(now)
		d.judge()
		if len(begun) > 0 {
			d.defendNow(now)
		}
	}
	if d.probed(now) {
		d.judge()
	}
}

// probed ends the probes before the first bind.
func (d *detector) probed(now time.Time) bool {
	if d.until.IsZero() || now.Before(d.until) {
		return false
	}
	d.until = time.Time{}
	return true
}

// probeDue sends the probes and questions that are due.
func (d *detector) probeDue(now time.Time) {
	ask, asked := append(d.question(now), d.formerAsked(now)...), false
	if due := d.probes.due(now, rand.Float64(), len(d.conflicts()) > 0); len(due) > 0 {
		d.updateMembers(now)
		ask, asked = append(ask, due...), true
	} else if d.answers.due(now) {
		d.updateMembers(now)
		ask, asked = append(ask, d.virtual.addresses[:min(len(d.virtual.addresses), perProbe)]...), true
	}
	if d.refuse() != nil && !now.Before(d.again) {
		d.again = now.Add(probeToBind)
		ask = append(ask, d.suspects()...)
	}
	if len(ask) == 0 {
		return
	}
	err := d.host.Probe(d.place, ask)
	if asked {
		d.answers.ask(now, err == nil)
		d.tellAnswers()
	}
	if err != nil {
		d.log.Debug("probe not sent", "interface", d.place.Name, "error", err)
	}
}

// nextDue is when due has something to do; zero for never.
func (d *detector) nextDue() time.Time {
	due := sooner(d.probes.next, d.next(foreignForget), d.until, d.membersDue, d.formerDue, d.answers.next)
	if d.refuse() != nil {
		due = sooner(due, d.again, d.next(vacantAfter))
	}
	return due
}

// judge reports what keeps this node from having the addresses now.
func (d *detector) judge() {
	conflicts, refused := d.conflicts(), d.refuse()
	switch {
	case len(conflicts) > 0 && d.cfg.Yield:
		d.report(election.Fitness{Out: true, Reason: "yielded: " + claimText(conflicts[0]), Code: code.DuplicateAddress})
	case len(conflicts) > 0 && refused != nil:
		d.report(election.Fitness{Out: true, Reason: refused.Error(), Code: code.DuplicateAddress})
	case !d.until.IsZero():
		d.report(election.Fitness{Out: true, Reason: "asking the link whether anybody has the address", Code: code.Probing})
	case refused != nil:
		// A claim that is not reported yet is most likely that of a holder whose next advertisement will say so.
		d.report(election.Fitness{Wait: true, Reason: refused.Error(), Code: code.DuplicateAddress})
	default:
		d.report(election.Fitness{})
	}
}

// refuse is the error of a first bind that somebody else's claim forbids. It need not be reported yet: a
// node that said it was Active before it refused would be taken for a holder by the others.
func (d *detector) refuse() error {
	if !d.cfg.ProbeFirst || d.shared {
		return nil
	}
	if c, ok := d.suspect(); ok {
		return fmt.Errorf("refused: %s", claimText(c))
	}
	return nil
}

func claimText(c instance.Conflict) string {
	return fmt.Sprintf("%s is claimed by %s, which takes no part in the election", c.Address, c.MAC)
}

func (d *detector) show(c []instance.Conflict) {
	d.shown.set(func(s *shown) { s.status.Conflicts = c })
}

// adjust takes over new addresses and policies.
func (d *detector) adjust() {
	hosts := d.cfg.hosts()
	d.outlives = d.cfg.Valid() + formerBeyond
	if !slices.Equal(d.virtual.addresses, hosts) {
		d.probes = newProbeSchedule(time.Now(), hosts, d.cfg.Crowd)
		d.listen(&d.virtual, hosts)
	}
	d.judge()
}
