package explain

import (
	"fmt"
	"time"

	"github.com/keepvip/keepvip/internal/base/code"
	"github.com/keepvip/keepvip/internal/serve/instance"
)

// host is what this host does for the address: the fence, and the link as far as there is an election on it. A node that is in none needs no
// fence.
func (c *chain) host() {
	f := c.Fence
	switch {
	case c.State == initialize:
		return
	case f.Route && f.Standing:
		c.fine(time.Time{}, "the kernel takes the route away if keepvip dies")
	case f.Route:
		c.say(f.Code, time.Time{}, f.Reason)
	case f.Standing && f.RepairedLately(c.now):
		c.say(code.FenceLost, f.Repaired, fmt.Sprintf("something on this host has taken the fence away, and keepvip has built it anew: %s since it started", times(f.Repairs)))
	case f.Standing:
		c.fine(time.Time{}, "the fence is in place: the kernel silences the address if keepvip dies")
	case f.Reason != "":
		c.say(code.FenceLost, time.Time{}, "the fence is not in place: "+f.Reason)
	}
	if f.Uncovered != "" {
		c.say(code.FenceUncovered, time.Time{}, "the fence does not cover "+f.Uncovered)
	}
	if c.Uncovered != "" {
		c.say(code.NotCovered, time.Time{}, c.Uncovered+", so clients are refused while this node holds the address")
	}
	if c.Unreached != "" {
		c.say(code.HeldUnreached, time.Time{}, c.Unreached)
	}
	if c.Lacking != "" {
		c.say(code.FamilyMissing, time.Time{}, c.Lacking)
	}
	if u := c.Unrouted; u != nil {
		c.facts = append(c.facts, Fact{Code: code.RepliesLost, Text: u.Reason, Remedy: u.Remedy})
	}
	for _, l := range c.Leases {
		if l.Problem != "" {
			c.say(l.Code, time.Time{}, fmt.Sprintf("%s stays here, and no DHCP server keeps it for %s: %s", l.Address, l.ClientID, l.Problem))
		}
	}
	c.spread()
	for i := range c.Members {
		if m := &c.Members[i]; m.Self && c.Interface != "" {
			c.fine(time.Time{}, fmt.Sprintf("%s is up, with this node's own address %s", c.Interface, m.Address))
			if v := c.Virtual; v != nil {
				c.fine(time.Time{}, fmt.Sprintf("%s is there for the virtual MAC %s, and up while this node holds the address", v.Name, v.MAC))
			}
		}
	}
}

// unreached are the members whose services take no connections, as far as this node has seen.
func (c *chain) unreached(s *instance.SpreadStatus) {
	for _, t := range s.Tables {
		for _, share := range t.Shares {
			if share.Code == code.NotReached && len(t.Ports) > 0 {
				c.say(code.NotReached, time.Time{}, fmt.Sprintf("%s gets no new connections to port %d: %s", share.Address, t.Ports[0].Port, share.Why))
			}
		}
	}
}

// spread is what is wrong where connections are to be spread over the members.
func (c *chain) spread() {
	s := c.Spread
	if s == nil {
		return
	}
	if s.Problem != "" {
		c.say(code.NotSpread, time.Time{}, "connections are not spread over the members as they should be: "+s.Problem)
	}
	for _, n := range s.Newcomers {
		c.say(code.NewMember, n.Since, fmt.Sprintf("CONFLICT: %s is a new member, and neither a key nor spread.members says that it is one", n.Address))
	}
	if n := len(s.LeftOut); n > 0 {
		c.say(code.TooManyMembers, time.Time{}, fmt.Sprintf("%d members get no connections: there are %d, and room for %d", n, len(s.Members)+n, len(s.Members)))
	}
	c.unreached(s)
	if s.TrackingFull != "" {
		c.say(code.ConntrackFull, time.Time{}, s.TrackingFull)
	}
	if s.WithoutIt != "" {
		c.say(code.NoSecondChance, time.Time{}, "a connection hangs when its member dies: "+s.WithoutIt)
	}
}

func times(n uint64) string {
	if n == 1 {
		return "once"
	}
	return fmt.Sprintf("%d times", n)
}

// takers is whether the next fault takes the address away.
func (c *chain) takers() {
	t := c.Takers
	text := fmt.Sprintf("%d of %d nodes could take over", t.Count, t.Nodes)
	switch {
	case t.Nodes == 0:
		c.say(code.NoCandidates, time.Time{}, t.Reason+", so nobody holds the address")
	case t.Nodes <= 1:
		return // that nobody is heard has been said
	case t.Unknown > 0:
		c.fine(time.Time{}, fmt.Sprintf("%s; of %d that speak VRRP alone nothing is known while they are Backup", text, t.Unknown))
	case t.Count > 0:
		c.fine(time.Time{}, text)
	case c.Blocked != "":
		c.say(code.NoTaker, time.Time{}, text)
	default:
		if t.Reason != "" {
			text += ": " + t.Reason
		}
		c.say(code.NoTaker, time.Time{}, text)
	}
}
