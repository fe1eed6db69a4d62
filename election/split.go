package election

import (
	"fmt"
	"net/netip"
	"slices"
	"time"

	membership "github.com/keepvip/keepvip/members"
	"github.com/keepvip/keepvip/vrrp"
)

// actOnMembers are the reasons for which a member's message is refused that an operator has to do something about.
var actOnMembers = map[string]string{
	string(membership.RejectUnsigned): "the sender has no key; give it the key, or set key.mode while the key is being introduced",
	string(membership.RejectKey):      "the sender signs with a key that this node does not have; add it under key.accept",
	string(membership.RejectMAC):      "the sender has another key, or somebody forges messages",
	string(membership.RejectStale):    "set the clocks of the nodes, then restart keepvip on the one that was wrong",
	string(membership.RejectVersion):  "the sender speaks another version of the members' protocol: run the same release of keepvip on all nodes",
}

// advertised lets the members know of an advertisement that has just left, if they do not hear it. The first one of a lease
// they are told of before the address is bound: a member that hears messages alone must not bind it, too.
func (x *handoverProtocol) advertised(now time.Time) {
	if x == nil {
		return
	}
	s := x.told // what comes with being Active is said when the address is announced
	s.Claims, s.Router = true, x.router()
	if s != x.told {
		x.told = s
		x.step(now, membership.SetSelf{Self: s})
	}
	x.step(now, membership.Advertised{})
}

// leaseHeld tells that this node advertises, and may answer for the address.
func (e *VRRP) leaseHeld() bool { return time.Now().Before(e.LeaseEnd()) }

func (x *handoverProtocol) router() membership.Router {
	r := x.e.cfg.Router
	return membership.Router{Version: r.Version, VRID: r.VRID, Interval: r.Interval}
}

// hear notes an advertisement; one with priority 0 says that its sender holds nothing.
func (x *handoverProtocol) hear(a Arrival) {
	if x != nil && a.Advertisement.Priority > 0 {
		x.m.Hear(a.Source, a.At)
	}
}

// claimed takes what a member says for its advertisement, unless that has come, too: this process may be late.
func (x *handoverProtocol) claimed(c membership.Claim) {
	x.e.wire.Drain()
	x.e.receiveAdverts()
	if !x.m.Unheard(c.From, c.At) {
		return
	}
	now := time.Now()
	x.e.step(now, vrrp.Claimed{
		Source: c.From, Priority: c.Priority, Interval: c.Interval, Age: now.Sub(c.At), Deaf: c.Deaf, Lasts: c.Lasts,
	})
	x.e.noteHolder(now)
}

// claimant is the member that holds the address as far as its messages say, and not its advertisements.
func (x *handoverProtocol) claimant(now time.Time) netip.Addr {
	if x == nil {
		return netip.Addr{}
	}
	if list := x.m.Claimants(now); len(list) > 0 {
		return list[0].Address
	}
	return netip.Addr{}
}

// noteClaims follows who claims the address, and says what an operator has to know: once, and when it is over.
func (x *handoverProtocol) noteClaims(now time.Time) {
	claims := x.m.Claimants(now)
	old := x.claims
	x.claims = claims
	for _, o := range old {
		if !slices.ContainsFunc(claims, func(c membership.Claimant) bool { return c.Address == o.Address }) {
			x.e.step(now, vrrp.Disclaimed{Source: o.Address})
		}
	}
	x.noteSplits(claims)
}

func (x *handoverProtocol) noteSplits(claims []membership.Claimant) {
	var splits []Split
	for i := range claims {
		if claims[i].Split {
			splits = append(splits, x.split(&claims[i]))
		}
	}
	x.mu.Lock()
	old := x.splits
	x.splits = splits
	x.mu.Unlock()
	in := func(list []Split, a netip.Addr) bool {
		return slices.ContainsFunc(list, func(s Split) bool { return s.Address == a })
	}
	for _, s := range splits {
		if !in(old, s.Address) {
			x.e.log.Error("SPLIT: a member holds the address, and its advertisements do not arrive",
				"member", s.Address.String(), "node", s.Node, "both", s.Both, "cause", s.Cause, "remedy", s.Remedy)
		}
	}
	for _, s := range old {
		if !in(splits, s.Address) {
			x.e.log.Info("the split is over", "member", s.Address.String(), "node", s.Node)
		}
	}
}

func (x *handoverProtocol) split(c *membership.Claimant) Split {
	s := Split{
		Address: c.Address, Node: c.Peer.Node, Since: c.Since,
		Both: x.e.machine.Snapshot().State == vrrp.Active,
	}
	s.Cause, s.Remedy = x.cause(c)
	return s
}

// cause is why nothing of a member's advertisements arrives, as far as is known, and what to do.
func (x *handoverProtocol) cause(c *membership.Claimant) (cause, remedy string) {
	own, other := x.router(), c.Peer.Router
	switch {
	case own.Version != other.Version:
		return fmt.Sprintf("VRRP version %d there, %d here", other.Version, own.Version), "set vrrp.version to the same on all nodes"
	case own.VRID != other.VRID:
		return fmt.Sprintf("VRID %d there, %d here", other.VRID, own.VRID), "set vrrp.id to the same on all nodes"
	case own.Version == 2 && own.Interval != other.Interval:
		return fmt.Sprintf("VRRP version 2 with an interval of %v there, %v here", other.Interval, own.Interval),
			"set vrrp.advertisementInterval to the same on all nodes"
	}
	for _, r := range x.e.wire.Rejections().List() {
		if r.Source.WithZone("") == c.Address && r.Remedy != "" && time.Since(r.Last) < logEvery {
			return "its advertisements are refused: " + r.Text, r.Remedy
		}
	}
	if c.Deaf {
		return "nothing that this node says is accepted there",
			"give all nodes the same key, and let IP protocol 112 and the UDP port of the members in on all nodes"
	}
	return "IP protocol 112 is filtered on the way from there to here",
		"let IP protocol 112 (VRRP) in on this node, out on the other, and through what is between them"
}
