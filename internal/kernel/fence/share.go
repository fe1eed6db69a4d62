package fence

import "time"

// Share is the fence of one group on a link: a part of the linkFence there. It belongs to one goroutine. Each method may take as long as the
// others' changes of nftables do.
type Share struct {
	link    *onLink
	fence   *shared
	id      uint32
	adverts bool // of ours renew the lease
	// The newest Verify.
	at    time.Time // when it was
	sound bool      // the fence was in place, but perhaps for this group's guard
	held  bool      // it looked for the guard
}

// Hold starts the guard, or goes on with it, together with those of others that ask at the same moment.
func (s *Share) Hold() error { return s.fence.holds.Do(s.id, s.fence.hold) }

// Standby is for addresses that are not on the link: from the moment in which one is bound there, it answers only with a lease. It ends what
// Hold began, together with what others ask for at the same moment. Within the time that is returned it has to be called again; 0 if the
// kernel cannot do it, and nothing has changed.
func (s *Share) Standby() (time.Duration, error) {
	if !s.fence.canStandBy() {
		return 0, nil
	}
	return standbyBeyond(s.fence.guardTime(s.id)), s.fence.standbys.Do(s.id, s.fence.standBy)
}

// ShutDiscovery stops ARP and neighbour discovery for the addresses and in their name.
func (s *Share) ShutDiscovery() error { return s.fence.shut(s.id, discovery) }

// ShutIn stops the addresses from hearing anything.
func (s *Share) ShutIn() error { return s.fence.shut(s.id, discovery|inward) }

// ShutOut stops anything from leaving in their name.
func (s *Share) ShutOut() error { return s.fence.shut(s.id, outward) }

// Reopen takes back what was shut.
func (s *Share) Reopen() error { return s.fence.reopen(s.id) }

// Release takes the guard away, after the addresses are off the link.
func (s *Share) Release() error { return s.fence.release(s.id) }

// Renewing reports whether the kernel renews the lease with every advertisement that leaves. Otherwise Renew has to.
func (s *Share) Renewing() bool { return s.adverts && s.fence.egress() }

// Renew renews the lease until then, or for its length if that is sooner. The error wraps errLate as that of linkFence.renew.
func (s *Share) Renew(until time.Time) error { return s.fence.renew(s.id, until) }

// LeaseLeft is how much of the lease the kernel has left at this moment, whoever renewed it; 0 for none. Any goroutine may ask.
func (s *Share) LeaseLeft() (time.Duration, error) {
	left, err := s.fence.leaseLeft(s.id)
	if err == nil && left == 0 {
		s.fence.looks.miss()
	}
	return left, err
}

// SpreadUntil lets packets of the group's spread ports pass until then: for as long as the kernel goes on translating them.
func (s *Share) SpreadUntil(until time.Time) error { return s.fence.spreadUntil(s.id, until) }

// Missed is when LeaseLeft last found the kernel without the lease of any group on the link; zero: never.
func (s *Share) Missed() time.Time { return s.fence.looks.missedAt() }

// Sharing is how many groups there are on the link.
func (s *Share) Sharing() int { return s.fence.groupCount() }

// Uncovered says what this kernel cannot keep from answering, empty for nothing.
func (s *Share) Uncovered() string {
	switch {
	case !s.fence.egress():
		return "what leaves in the address's name (this kernel has no nftables egress hook, Linux 5.16)"
	case !s.fence.otherLinks():
		return "ARP on other links of this node (this kernel has no nftables of the arp family, CONFIG_NF_TABLES_ARP)"
	}
	return ""
}

// Change makes the share one of another group, which keeps the guard and what is shut of it.
func (s *Share) Change(next Group) error { return s.link.do(&change{group: next, replaces: s}) }

// Follow tells who knows until when the group may answer, which any goroutine may ask at any time: whoever mends the fence mends it for all
// groups. Before, a mended fence gives the group no lease. gone is called, by another goroutine, when others have taken the fence away and it is about to be
// made anew; it must not wait.
func (s *Share) Follow(leaseEnd func() time.Time, gone func()) {
	s.fence.ends.follow(s.id, leaseEnd, gone)
}

// Told reports whether what others do to the fence is followed in time, so that Verify need not look for it often.
func (s *Share) Told() bool { return s.link.watch.Tells() }

// Close takes the group's fence down, and the whole fence after the last one.
func (s *Share) Close() error {
	s.fence.ends.forget(s.id)
	return s.link.do(&change{leaves: s})
}

// Verify returns an error that says what the kernel lacks of the fence, with held also of the guard; nil when it is in place. An outcome
// that is no older than within will do.
func (s *Share) Verify(within time.Duration, held bool) error {
	at, err := s.fence.looks.verify(within, s.fence.verify)
	s.at, s.sound, s.held = at, err == nil, held
	if err == nil && held {
		err = s.fence.guarded(s.id)
	}
	return err
}

// Mend puts in place what the newest Verify has missed, and of each group's lease on this link what is left of it by Follow.
func (s *Share) Mend() error {
	if s.sound { // all but the guard
		return s.Hold()
	}
	if err := s.fence.looks.mend(s.at, func() error { return s.fence.rebuild(s.fence.ends.now()) }); err != nil {
		return err
	}
	if s.held && s.fence.guarded(s.id) != nil {
		return s.Hold()
	}
	return nil
}
