package virtualrouter

import (
	"errors"
	"fmt"
	"net/netip"

	"github.com/keepvip/keepvip/election"
	"github.com/keepvip/keepvip/internal/base/code"
	"github.com/keepvip/keepvip/members"
)

// actOnMembers are the reasons for which a member's message is refused that an operator has to do something about.
var actOnMembers = map[string]string{
	string(members.RejectUnsigned): "the sender has no key; give it the key, or set key.mode while the key is being introduced",
	string(members.RejectKey):      "the sender signs with a key that this node does not have; add it under key.accept",
	string(members.RejectMAC):      "the sender has another key, or somebody forges messages",
	string(members.RejectStale):    "set the clocks of the nodes, then restart keepvip on the one that was wrong",
	string(members.RejectVersion):  "the sender speaks another version of the members' protocol: run the same release of keepvip on all nodes",
	string(members.RejectPeer):     "add the sender's address to vrrp.peers on all nodes, or give the node back the address that is in the list",
	string(members.RejectTTL):      "set vrrp.minTTL on all nodes to 255 less the number of routers between them, with a key; or bring the nodes onto one link",
}

// whyUnlisted says in full why a message of a member is refused that the configuration keeps out.
func whyUnlisted(r members.Received) error {
	if r.Refused == members.RejectTTL {
		return fmt.Errorf("it is a member of this address and came through a router: TTL %d, and vrrp.minTTL is more", r.TTL)
	}
	return errNotListed
}

var errNotListed = errors.New("it is a member of this address, and its own address is not in vrrp.peers here")

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

func splitWith(c *members.Claimant, own members.Router, active bool) election.Split {
	s := election.Split{Address: c.Address, Node: c.Peer.Node, Since: c.Since, Both: active}
	s.Code = code.Split
	s.Cause, s.Remedy = whyUnheard(c, own)
	return s
}

// whyUnheard is why nothing of a member's advertisements arrives, as far as is known, and what to do.
func whyUnheard(c *members.Claimant, own members.Router) (cause, remedy string) {
	other := c.Peer.Router
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
