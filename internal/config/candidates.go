package config

import (
	"net/netip"
	"slices"
)

// candidates refuses a list that would have no effect, or the wrong one.
func (k vipValidator) candidates() {
	for _, a := range k.v.Candidates {
		if k.isVirtual(a) {
			k.fail("candidates", "%s is a virtual address, want a node's own", a)
		}
	}
	if len(k.v.Candidates) > 0 && k.v.Election == ElectionRaft {
		k.fail("candidates", "set with election raft, want election vrrp; by Raft nodes that never hold the addresses are raft.witnesses, which serve nothing")
	}
}

// SameSet tells whether two lists have the same addresses, in any order.
func SameSet(a, b []netip.Addr) bool {
	within := func(some, all []netip.Addr) bool {
		return !slices.ContainsFunc(some, func(x netip.Addr) bool { return !slices.Contains(all, x) })
	}
	return within(a, b) && within(b, a)
}
