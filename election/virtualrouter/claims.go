package virtualrouter

import (
	"net/netip"
	"slices"

	"github.com/keepvip/keepvip/election"
	"github.com/keepvip/keepvip/members"
)

// claims is which members claim the address by messages alone, and with which of them this node is split.
type claims struct {
	list   []members.Claimant
	splits []election.Split
}

// update takes over who claims it now, and tells who does not any more, and which splits have begun and are over.
func (c *claims) update(list []members.Claimant, own members.Router, active bool) (disclaimed []netip.Addr, begun, over []election.Split) {
	for _, o := range c.list {
		if !slices.ContainsFunc(list, func(n members.Claimant) bool { return n.Address == o.Address }) {
			disclaimed = append(disclaimed, o.Address)
		}
	}
	var splits []election.Split
	for i := range list {
		if list[i].Split {
			splits = append(splits, splitWith(&list[i], own, active))
		}
	}
	begun, over = notIn(c.splits, splits), notIn(splits, c.splits)
	c.list, c.splits = list, splits
	return disclaimed, begun, over
}

// notIn are those of list that are not in the other.
func notIn(other, list []election.Split) (out []election.Split) {
	for _, s := range list {
		if !slices.ContainsFunc(other, func(o election.Split) bool { return o.Address == s.Address }) {
			out = append(out, s)
		}
	}
	return out
}
