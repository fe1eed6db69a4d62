package virtualrouter

import (
	"log/slog"
	"net/netip"
	"slices"

	"github.com/keepvip/keepvip/election"
	"github.com/keepvip/keepvip/members"
	"github.com/keepvip/keepvip/vrrp"
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

// note follows who claims the address, says what an operator has to know, once, and when it is over, and returns what is to
// be done about those who do not claim it any more.
func (c *claims) note(x *handoverProtocol) (work []func()) {
	list := x.members.Claimants(x.m.now)
	disclaimed, begun, over := c.update(list, routerOf(x.m.cfg.Router), x.m.state == election.Active)
	for _, a := range disclaimed {
		work = append(work, x.m.routerStep(vrrp.Disclaimed{Source: a}))
	}
	for _, s := range begun {
		if left, ok := x.m.lines.May(x.m.now, "split", election.MostLines); ok {
			x.agenda.act(split{s, left})
		}
	}
	for _, s := range over {
		x.m.say(slog.LevelInfo, "the split is over", "member", s.Address.String(), "node", s.Node)
	}
	return work
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
