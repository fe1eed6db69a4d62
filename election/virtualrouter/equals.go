package virtualrouter

import (
	"net/netip"
	"slices"

	"github.com/keepvip/keepvip/members"
	"github.com/keepvip/keepvip/vrrp"
)

// equals is how this node stands should the Active fall silent: nowhere, unless every router that is known is a member with this
// node's priority, or one that is not fit and comes last. keepalived, another priority, and a member of a release that is an Active
// for its whole Active_Down_Interval have everything as RFC 9568 does.
func (m *machine) equals(active netip.Addr) vrrp.Equals {
	base := m.cfg.Router.Priority
	if m.x == nil || m.router.Snapshot().Priority != base {
		return vrrp.Equals{}
	}
	if a := members.Find(m.roster.list, active); a == nil || a.Peer.Revision < members.RevisionPrompt {
		return vrrp.Equals{}
	}
	if m.watch.strangers() != "" {
		return vrrp.Equals{}
	}
	if slices.ContainsFunc(m.roster.list, func(o members.Member) bool {
		return !o.Peer.NoCandidate && (o.Peer.Base != base || o.Peer.Priority > base)
	}) {
		return vrrp.Equals{}
	}
	before, others := m.roster.takers(active.WithZone(""), m.source, base)
	return vrrp.Equals{Rank: before, Of: others + 1}
}

// takers are how many members could take over from the Active at gone, and how many of them come before the node at self with its priority: those of a
// higher priority, or of the same and a greater address. Of two that become Active all the same, that is the one that stays (RFC 9568, section 6.4.3).
func (r *roster) takers(gone, self netip.Addr, priority uint8) (before, others int) {
	self = self.WithZone("")
	for i := range r.list {
		o := &r.list[i]
		if o.Address == gone || !o.Peer.Fit || o.Peer.State != vrrp.Backup {
			continue
		}
		others++
		if p := o.Peer.Priority; p > priority || p == priority && self.Less(o.Address) {
			before++
		}
	}
	return before, others
}
