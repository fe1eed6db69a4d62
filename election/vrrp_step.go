package election

import (
	"net/netip"
	"slices"
	"time"

	"github.com/keepvip/keepvip/vrrp"
)

// step gives one event to the machine and does what it asks for, in its order.
func (e *VRRP) step(now time.Time, ev vrrp.Event) {
	e.failed = nil
	// A copy: while the host follows a change, the machine may step again.
	for _, a := range slices.Clone(e.machine.Step(now, ev)) {
		e.act(a)
	}
	e.publish()
	if e.failed != nil {
		e.giveUp()
	}
}

func (e *VRRP) act(a vrrp.Action) {
	switch a := a.(type) {
	case vrrp.Send:
		e.send(a.Advertisement)
	case vrrp.Change:
		e.change(stateOf(a.From), stateOf(a.To), string(a.Reason))
	case vrrp.Reannounce:
		e.count(func(c *Counters) { c.Rivals++ })
		_ = e.apply(Decision{
			Role: Serve, At: time.Now(), Holder: e.source,
			Reason: "a rival was heard: " + a.Rival.String(), Rival: true, Again: e.cfg.Router.Interval,
		})
	}
}

func (e *VRRP) send(adv vrrp.Advertisement) {
	// The lease of the kernel begins when the advertisement leaves, and this process may be frozen between that and the
	// next line: the lease must not be longer.
	began := time.Now()
	if err := e.wire.Send(adv); err != nil {
		e.count(func(c *Counters) { c.SendErrors++ })
		e.log.Debug("advertisement not sent", "error", err)
		return
	}
	e.count(func(c *Counters) { c.Sent++ })
	if adv.Priority > 0 && e.machine.Snapshot().State == vrrp.Active {
		e.setLeaseEnd(began.Add(Lease(e.cfg.Router)))
		e.x.advertised(time.Now())
	}
}

func (e *VRRP) setLeaseEnd(until time.Time) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.leaseEnd = until
}

// LeaseEnd implements Elector.
func (e *VRRP) LeaseEnd() time.Time {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.leaseEnd
}

// change has the decision carried out before anything else happens.
func (e *VRRP) change(from, to State, reason string) {
	now, cause := time.Now(), e.cause(from, e.holder)
	e.holder = e.holderIn(to, now)
	e.mu.Lock()
	e.status.State, e.status.Since, e.status.Reason = to, now, reason
	e.status.Holder = e.holder
	e.status.Counters.Transitions++
	if to == Active {
		e.status.Counters.Takeovers++
	} else {
		e.leaseEnd = time.Time{}
	}
	e.mu.Unlock()
	if e.x.changed(reason) {
		return // it is Quiet already
	}
	err := e.follow(Decision{
		Role: RoleOf(to), Reason: reason, Cause: cause, Holder: e.holder, At: now, Granted: reason == string(vrrp.ReasonGranted),
	})
	switch {
	case to != Active:
	case err != nil:
		e.failed = err
	default:
		e.backoff = BindBackoff{}
	}
}

// giveUp resigns after the host could not bind the address.
func (e *VRRP) giveUp() {
	err, now := e.failed, time.Now()
	e.backoff.Begin(now, err, e.machine.Snapshot().ActiveDownInterval)
	e.log.Warn("resigned: the address could not be bound", "error", err, "comes last for", e.backoff.Wait())
	e.applyFitness(now)
}

// holderIn is the Active as seen from the given state of our own.
func (e *VRRP) holderIn(s State, now time.Time) netip.Addr {
	if s == Active {
		return e.source
	}
	return e.heardHolder(now)
}

// heardHolder is the Active by its advertisements, or else by what it says.
func (e *VRRP) heardHolder(now time.Time) netip.Addr {
	if holder := e.members.holder(now); holder.IsValid() {
		return holder
	}
	return e.x.claimant(now)
}

// holderGap bounds how often the host has to follow what is only heard: a forger can name another holder with each packet.
const holderGap = 100 * time.Millisecond

// noteHolder reports that another node than before is heard as the Active. A host that is passing the address on hears of it
// when it has let go: it has nothing else to do until then, and is to be quick.
func (e *VRRP) noteHolder(now time.Time) {
	e.untold = time.Time{}
	if e.x.passes() {
		return
	}
	state := stateOf(e.machine.Snapshot().State)
	holder := e.holderIn(state, now)
	if holder == e.holder {
		return
	}
	if at := e.told.Add(holderGap); now.Before(at) && state != Active {
		e.untold = at
		return
	}
	e.told = now
	cause := e.cause(state, e.holder)
	e.holder = holder
	e.mu.Lock()
	e.status.Holder = holder
	e.mu.Unlock()
	if state == Active {
		return
	}
	reason := "no Active is heard"
	if holder.IsValid() {
		reason = "another node is heard as the Active"
	}
	_ = e.apply(Decision{Role: RoleOf(state), Reason: reason, Cause: cause, Holder: holder, At: now})
}

func (e *VRRP) count(add func(*Counters)) {
	e.mu.Lock()
	defer e.mu.Unlock()
	add(&e.status.Counters)
}

func (e *VRRP) publish() {
	s := e.machine.Snapshot()
	e.tellGroup(s)
	e.mu.Lock()
	defer e.mu.Unlock()
	e.status.Priority = s.Priority
	e.status.Members = e.members.report(e.status.Members[:0], time.Now())
}

// Status implements Elector.
func (e *VRRP) Status() Status {
	rejections, refused := e.wire.Rejections(), e.x.rejected()
	e.mu.Lock()
	defer e.mu.Unlock()
	s := e.status
	s.TimerLag = e.lag.worst(time.Now())
	s.Counters.Rejected, s.Rejected = rejections.Counts(), rejections.List()
	s.Counters.MembersRejected = refused
	s.Splits = e.x.allSplits()
	if e.x != nil {
		s.Rejected = append(s.Rejected, e.x.refused.List()...)
	}
	self := e.x.withStatus(Member{
		Address: e.source, Self: true, Priority: s.Priority, State: s.State,
		Fit: s.Fitness.fit(s.Priority), Unfit: s.Fitness.Reason,
	})
	s.Members = append([]Member{self}, e.x.merge(slices.Clone(s.Members))...)
	return s
}

func stateOf(s vrrp.State) State {
	switch s {
	case vrrp.Active:
		return Active
	case vrrp.Backup:
		return Backup
	default:
		return Initialize
	}
}
