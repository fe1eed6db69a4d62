package members

import (
	"time"

	"github.com/keepvip/keepvip/internal/base/printable"
	"github.com/keepvip/keepvip/vrrp"
)

// own is this node: how it is configured, how it is as it was told last, and what of both the others are told. It knows of no other node.
type own struct {
	cfg    Config
	self   SetSelf
	proven bool   // was fit before
	epoch  uint64 // how often it has become Active
}

func (o *own) configure(cfg Config) {
	if cfg.Every == 0 {
		cfg.Every = DefaultEvery
	}
	cfg.Every = min(cfg.Every, longestEvery)
	if cfg.Adverts == 0 {
		cfg.Adverts = 3
	}
	cfg.Node, cfg.Software = printable.Clean(cfg.Node, maxNode), printable.Clean(cfg.Software, maxSoftware)
	o.cfg = cfg
}

// set takes in how this node is, and tells whether the others have to hear of it at once.
func (o *own) set(s SetSelf) (news bool) {
	s.Reason = printable.Clean(s.Reason, maxReason)
	if s.Spread != nil && !s.Spread.valid() {
		s.Spread = nil // no message could carry it
	}
	if s.alike(o.self) {
		o.self = s
		return false
	}
	if s.State == vrrp.Active && o.self.State != vrrp.Active {
		o.epoch++
	}
	o.self = s
	o.proven = o.proven || s.Fit
	return true
}

// passOn makes this node the Backup that it is when it has passed the address on, before it is told so.
func (o *own) passOn() { o.self.State, o.self.Claims = vrrp.Backup, false }

// leave takes in why this node leaves.
func (o *own) leave(why Leave) {
	o.self.Reason, o.self.Code = printable.Clean(why.Reason, maxReason), why.Code
}

// meant tells whether a REQUEST or a GRANT is for this run of this node.
func (o *own) meant(d Transfer) bool { return d.To == o.cfg.Address && d.Session == o.cfg.Session }

func (o *own) peerState() PeerState {
	s := o.self.Self
	if s.Router != (Router{}) {
		s.Router.Addresses, s.Router.MTU = o.cfg.Addresses, o.cfg.MTU
	}
	return PeerState{
		Self: s, Group: o.cfg.Group, Node: o.cfg.Node, Software: o.cfg.Software, Revision: Revision,
		Epoch: o.epoch, Proven: o.proven, Lifetime: lifetime(o.every()), Fast: o.cfg.Fast,
	}
}

// every is the time between two HELLOs that nothing else calls for.
func (o *own) every() time.Duration {
	if o.self.Spread == nil {
		return o.cfg.Every
	}
	return min(o.cfg.Every, max(o.self.Router.Interval, o.cfg.SpreadEvery, leastSpreadEvery))
}

// nextHello is when a HELLO that is said now is followed by the next one that nothing else calls for.
func (o *own) nextHello(now time.Time) time.Time {
	if o.self.Spread != nil {
		return nextSpreadHello(now, o.every(), o.cfg.Group)
	}
	return nextHello(now, o.cfg.Every, o.cfg.Group)
}

// within is grantWithin of the lease that is configured.
func (o *own) within() time.Duration { return grantWithin(o.cfg.Lease) }

func (o *own) offer() offer {
	return offer{
		active: o.self.State == vrrp.Active, passive: o.cfg.Passive, fit: o.self.Fit, priority: o.self.Priority, only: o.self.For,
		within: o.within(),
	}
}

func (o *own) bounds() bounds {
	return bounds{adverts: o.cfg.Adverts, every: o.cfg.Every, interval: o.self.Router.Interval}
}
