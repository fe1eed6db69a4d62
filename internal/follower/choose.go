package follower

import (
	"net/netip"
	"slices"

	"github.com/keepvip/keepvip/internal/slots"
	"github.com/keepvip/keepvip/internal/subscription"
)

// verdict is what probes have seen of a service from here.
type verdict uint8

const (
	unknown verdict = iota
	reached
	failed
)

// share is one member's part of one port.
type share struct {
	address, other netip.Addr
	weight         uint8
	use            bool
	why            string // why it is not used
}

// at is the member's own address of the family of a; the zero Addr: it has none.
func (s share) at(a netip.Addr) netip.Addr {
	for _, own := range []netip.Addr{s.address, s.other} {
		if own.IsValid() && own.Is4() == a.Is4() {
			return own
		}
	}
	return netip.Addr{}
}

// choose says which members get connections to a port. What members say decides; a probe that has failed keeps one from getting any. While no
// member says anything those get connections that a probe has reached: those known last, and those in known.
func choose(p Port, all []subscription.State, told bool, known []netip.Addr, probe func(netip.AddrPort) verdict) (out []share) {
	for _, s := range all {
		c := share{address: s.Address, other: s.Other, weight: s.Weight}
		v := probe(netip.AddrPortFrom(s.Address, p.Target))
		switch {
		case !told:
			c.use, c.why = v == reached, "no member says anything, and it is not reached from here"
			c.weight = max(c.weight, 1)
		case s.Silent && s.On(p.Protocol, p.Port) == slots.Dead:
			c.why = "its host is dead"
		case s.Silent:
			c.why = "its keepvip is silent"
		case s.On(p.Protocol, p.Port) != slots.Fit:
			c.why = "it is not fit for new connections"
		case s.Weight == 0:
			c.why = "its weight is 0"
		case v == failed:
			c.why = "it is not reached from here"
		default:
			c.use = true
		}
		if c.use {
			c.why = ""
		}
		out = append(out, c)
	}
	if told {
		return out
	}
	for _, a := range known {
		if slices.ContainsFunc(out, func(s share) bool { return s.address == a || s.other == a }) {
			continue
		}
		c := share{address: a, weight: 1, why: "no member says anything, and it is not reached from here"}
		if c.use = probe(netip.AddrPortFrom(a, p.Target)) == reached; c.use {
			c.why = ""
		}
		out = append(out, c)
	}
	return out
}

// died are the own addresses of the members whose hosts are dead.
func died(all []subscription.State, told bool) (out []netip.Addr) {
	if !told {
		return nil
	}
	for _, s := range all {
		alive := slices.ContainsFunc(s.Ports, func(p subscription.Port) bool { return p.Condition != slots.Dead })
		if alive || len(s.Ports) == 0 {
			continue
		}
		out = append(out, s.Address)
		if s.Other.IsValid() {
			out = append(out, s.Other)
		}
	}
	return out
}
