package follower

import (
	"net/netip"
	"slices"

	"github.com/keepvip/keepvip/internal/config"
	"github.com/keepvip/keepvip/members/slots"
	"github.com/keepvip/keepvip/members/subscription"
)

// verdict is what probes have seen of a service from here.
type verdict uint8

const (
	unknown verdict = iota
	reached
	failed
)

// Share is one member's part of one port. Its JSON form is part of the status.
type Share struct {
	Address netip.Addr   `json:"address"`
	Node    string       `json:"node,omitempty"`
	Weight  uint8        `json:"weight"`
	Used    bool         `json:"used"`             // it gets new connections
	SentTo  []netip.Addr `json:"sentTo,omitempty"` // its own addresses that get them, one of a family
	Why     string       `json:"why,omitempty"`    // why it gets none
}

// own are the member's own addresses of the families of virtual addresses: connections to one go to none of another family. A link-local IPv6 address is
// one on each link, so no connection can be sent to it.
func own(virtual []netip.Addr, addresses ...netip.Addr) (out []netip.Addr) {
	for _, v := range virtual {
		i := slices.IndexFunc(addresses, func(a netip.Addr) bool {
			return a.IsValid() && a.Is4() == v.Is4() && !(a.Is6() && a.IsLinkLocalUnicast())
		})
		if i >= 0 && !slices.Contains(out, addresses[i]) {
			out = append(out, addresses[i])
		}
	}
	return out
}

// use gives the member connections at those of its addresses of which a probe says nothing against it. other is its
// address of the other family.
func (s *Share) use(e Entry, p config.SpreadPort, other netip.Addr, good func(netip.AddrPort) bool, otherwise string) {
	s.Why = "it has no address of the virtual address's family; link-local addresses do not count"
	for _, a := range own(e.Addresses, s.Address, other) {
		if s.Why = otherwise; good(netip.AddrPortFrom(a, p.Target)) {
			s.SentTo = append(s.SentTo, a)
		}
	}
	if s.Used = len(s.SentTo) > 0; s.Used {
		s.Why = ""
	}
}

// choose says which members get connections to a port. What members say decides; a probe that has failed keeps one from getting any. While no
// member says anything those get connections that a probe has reached: those known last, and those in known.
func (e Entry) choose(p config.SpreadPort, all []subscription.Member, told bool, known []netip.Addr, probe func(netip.AddrPort) verdict) (out []Share) {
	reachedOnly := func(at netip.AddrPort) bool { return probe(at) == reached }
	notFailed := func(at netip.AddrPort) bool { return probe(at) != failed }
	const unreached, alone = "it is not reached from here", "no member says anything, and it is not reached from here"
	for _, s := range all {
		c := Share{Address: s.Address, Node: s.Node, Weight: s.Weight}
		switch {
		case s.Weight == 0:
			c.Why = "its weight is 0"
		case !told:
			c.use(e, p, s.Other, reachedOnly, alone)
		case s.Silent && s.On(p.Protocol.Number(), p.Port) == slots.Dead:
			c.Why = "its host is dead"
		case s.Silent:
			c.Why = "its keepvip is silent"
		case s.On(p.Protocol.Number(), p.Port) != slots.Fit:
			c.Why = "it is not fit for new connections"
		default:
			c.use(e, p, s.Other, notFailed, unreached)
		}
		out = append(out, c)
	}
	if told {
		return out
	}
	for _, a := range known {
		listed := slices.ContainsFunc(out, func(s Share) bool { return s.Address == a })
		if listed || slices.ContainsFunc(all, func(s subscription.Member) bool { return s.Other == a }) {
			continue
		}
		c := Share{Address: a, Weight: 1}
		c.use(e, p, netip.Addr{}, reachedOnly, alone)
		out = append(out, c)
	}
	return out
}

// died are the own addresses of the members whose hosts are dead.
func died(all []subscription.Member, told bool) (out []netip.Addr) {
	if !told {
		return nil
	}
	for _, s := range all {
		if !s.Dead() {
			continue
		}
		out = append(out, s.Address)
		if s.Other.IsValid() {
			out = append(out, s.Other)
		}
	}
	return out
}
