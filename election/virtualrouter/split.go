package virtualrouter

import (
	"fmt"
	"log/slog"
	"net/netip"
	"slices"
	"time"

	"github.com/keepvip/keepvip/election"
	"github.com/keepvip/keepvip/internal/code"
	"github.com/keepvip/keepvip/members"
	"github.com/keepvip/keepvip/vrrp"
)

// actOnMembers are the reasons for which a member's message is refused that an operator has to do something about.
var actOnMembers = map[string]string{
	string(members.RejectUnsigned): "the sender has no key; give it the key, or set key.mode while the key is being introduced",
	string(members.RejectKey):      "the sender signs with a key that this node does not have; add it under key.accept",
	string(members.RejectMAC):      "the sender has another key, or somebody forges messages",
	string(members.RejectStale):    "set the clocks of the nodes, then restart keepvip on the one that was wrong",
	string(members.RejectVersion):  "the sender speaks another version of the members' protocol: run the same release of keepvip on all nodes",
}

// claimant is the member that holds the address as far as its messages say, and not its advertisements.
func (x *handoverProtocol) claimant() netip.Addr {
	if x == nil {
		return netip.Addr{}
	}
	if list := x.members.Claimants(x.m.now); len(list) > 0 {
		return list[0].Address
	}
	return netip.Addr{}
}

// noteClaims follows who claims the address, says what an operator has to know, once, and when it is over, and returns what is to
// be done about those who do not claim it any more.
func (x *handoverProtocol) noteClaims(now time.Time) (work []func()) {
	claims := x.members.Claimants(now)
	for _, o := range x.claims {
		if !slices.ContainsFunc(claims, func(c members.Claimant) bool { return c.Address == o.Address }) {
			work = append(work, x.m.routerStep(vrrp.Disclaimed{Source: o.Address}))
		}
	}
	x.claims = claims
	x.noteSplits(claims)
	return work
}

func (x *handoverProtocol) noteSplits(claims []members.Claimant) {
	var now []election.Split
	for i := range claims {
		if claims[i].Split {
			now = append(now, x.split(&claims[i]))
		}
	}
	before := x.splits
	x.splits = now
	for _, s := range notIn(before, now) {
		if left, ok := x.m.lines.May(x.m.now, "split", election.MostLines); ok {
			x.agenda.act(split{s, left})
		}
	}
	for _, s := range notIn(now, before) {
		x.m.say(slog.LevelInfo, "the split is over", "member", s.Address.String(), "node", s.Node)
	}
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

func (x *handoverProtocol) split(c *members.Claimant) election.Split {
	s := election.Split{Address: c.Address, Node: c.Peer.Node, Since: c.Since, Both: x.m.state == election.Active}
	s.Code = code.Split
	s.Cause, s.Remedy = x.why(c)
	return s
}

// why is why nothing of a member's advertisements arrives, as far as is known, and what to do.
func (x *handoverProtocol) why(c *members.Claimant) (cause, remedy string) {
	own, other := x.router(), c.Peer.Router
	switch {
	case own.Version != other.Version:
		return fmt.Sprintf("VRRP version %d there, %d here", other.Version, own.Version), "set vrrp.version to the same on all nodes"
	case own.VRID != other.VRID:
		return fmt.Sprintf("VRID %d there, %d here", other.VRID, own.VRID), "set vrrp.id to the same on all nodes"
	case own.Version == 2 && own.Interval != other.Interval:
		return fmt.Sprintf("VRRP version 2 with an interval of %v there, %v here", other.Interval, own.Interval),
			"set vrrp.advertisementInterval to the same on all nodes"
	case c.Deaf:
		return causeDeaf,
			"give all nodes the same key, and let IP protocol 112 and the UDP port of the members in on all nodes"
	}
	return causeFiltered, "let IP protocol 112 (VRRP) in on this node, out on the other, and through what is between them"
}

// The causes where nothing else is known.
const (
	causeFiltered = "IP protocol 112 is filtered on the way from there to here"
	causeDeaf     = "nothing that this node says is accepted there"
)
