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
//
// The greatest address comes first: if two become Active all the same, it is the one that stays (RFC 9568, section 6.4.3).
func (m *machine) equals(active netip.Addr) vrrp.Equals {
	base := m.cfg.Router.Priority
	if m.x == nil || m.router.Snapshot().Priority != base {
		return vrrp.Equals{}
	}
	if a := find(m.roster.list, active); a == nil || a.Peer.Revision < members.RevisionPrompt {
		return vrrp.Equals{}
	}
	if slices.ContainsFunc(m.heard.list, func(h heard) bool { return !m.roster.has(h.source) }) ||
		slices.ContainsFunc(m.cfg.Peers, func(a netip.Addr) bool { return !m.own(a) && !m.roster.has(a) }) {
		return vrrp.Equals{}
	}
	e := vrrp.Equals{Of: 1}
	for i := range m.roster.list {
		switch o := &m.roster.list[i]; {
		case o.Peer.NoCandidate:
		case o.Peer.Base != base || o.Peer.Priority > base:
			return vrrp.Equals{}
		case o.Peer.Priority == base && o.Address != active.WithZone(""):
			e.Of++
			if m.source.WithZone("").Less(o.Address) {
				e.Rank++
			}
		}
	}
	return e
}
