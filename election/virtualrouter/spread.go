package virtualrouter

import (
	"net/netip"
	"time"

	"github.com/keepvip/keepvip/election"
	"github.com/keepvip/keepvip/members"
)

var _ election.Spreader = (*Elector)(nil)

// Members implements election.Spreader.
func (e *Elector) Members() []election.Member {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.machine.members(time.Now())
}

// MembersChanged implements election.Spreader.
func (e *Elector) MembersChanged() <-chan struct{} { return e.stirred }

// ownSpread is how this node spreads.
type ownSpread struct {
	every time.Duration    // as in members.Config
	set   *election.Spread // nil: it does not
	said  *members.Spread  // what the members hear of set; nil: not made yet
}

// become says how it spreads from now on, and tells whether that begins.
func (o *ownSpread) become(s *election.Spread) (begins bool) {
	begins = o.set == nil && s != nil
	o.set, o.said = s, nil
	return begins
}

// say is the same one as long as nothing changes.
func (o *ownSpread) say(fit bool) *members.Spread {
	if o.set == nil || o.said != nil && o.said.Fit == fit {
		return o.said
	}
	s := *o.set
	s.Fit, s.Every, s.Address = fit, 0, netip.Addr{} // a HELLO has no room for the others
	o.said = &s
	return o.said
}

// spreadOf is what a member has said; nil if it does not spread.
func spreadOf(m *members.Member) *election.Spread {
	if m.Peer.Spread == nil {
		return nil
	}
	s := *m.Peer.Spread
	s.Every, s.Clients = members.Every(m.Peer.Lifetime), m.Peer.Clients
	return &s
}

// wake wakes who spreads when a member is another one.
func (x *handoverProtocol) wake(another bool) {
	if another && x.own.spread.set != nil {
		x.agenda.act(membersChanged{})
	}
}

// alike tells whether a member is the same to those that spread.
func alike(a, b *members.Member) bool {
	return a.Address == b.Address && a.Peer.Fit == b.Peer.Fit && a.Peer.Draining == b.Peer.Draining && a.Peer.Spread.Alike(b.Peer.Spread)
}
