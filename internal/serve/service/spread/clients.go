package spread

import (
	"maps"
	"net/netip"
	"slices"
	"time"

	"github.com/keepvip/keepvip/election"
	"github.com/keepvip/keepvip/internal/kernel/spreadtables"
)

const (
	// clientTime is for how long a client counts that its member says no more, and clientTurns how many of the member's messages at least: with fewer of
	// them it may not have said all of its clients. A HELLO has room for a dozen of IPv6.
	clientTime, clientTurns = 2 * time.Minute, 400
	// mostClients bounds how many of all members are remembered: without a key anybody on the link can invent members with clients.
	mostClients = 2 * election.MostClients
	// forgetEvery is how often is looked who was not said for so long.
	forgetEvery = 5 * time.Second
)

// askClientsAfter is when clients are asked, one time after the other: at first the other members have mostly seen the death, too, and none gives the
// answer of a client to the dead. Later times are for members that see it later, and for what is lost.
var askClientsAfter = [...]time.Duration{
	20 * time.Millisecond, 30 * time.Millisecond, 50 * time.Millisecond, 100 * time.Millisecond, 400 * time.Millisecond,
}

// clients are those of another member, as far as it has said, so that somebody knows them when it has died.
type clients struct {
	seen  map[election.Client]time.Time // when the member said so last
	heard time.Time                     // when that was
}

// hear takes in what a member has said at that time. No more than most are remembered.
func (c *clients) hear(at time.Time, list []election.Client, most int) {
	if !at.After(c.heard) {
		return
	}
	c.heard = at
	if c.seen == nil && len(list) > 0 {
		c.seen = map[election.Client]time.Time{}
	}
	for _, one := range list {
		if _, known := c.seen[one]; known || len(c.seen) < most {
			c.seen[one] = at
		}
	}
}

// forget makes room for others, in place of those that the member says no more.
func (c *clients) forget(now time.Time, after time.Duration) {
	maps.DeleteFunc(c.seen, func(_ election.Client, seen time.Time) bool { return now.Sub(seen) >= after })
}

// take takes out those that the member has said not longer ago than that, when it was heard last.
func (c *clients) take(within time.Duration) (out []election.Client) {
	for one, seen := range c.seen {
		if c.heard.Sub(seen) < within {
			out = append(out, one)
		}
	}
	*c = clients{heard: c.heard}
	return out
}

// reachable are the clients that others can send something to: this host's own have connections of another kind.
func reachable(list []spreadtables.Client) []election.Client {
	list = slices.DeleteFunc(list, func(c spreadtables.Client) bool { return c.At.Addr() == c.To.Addr() || c.At.Addr().IsLoopback() })
	out := make([]election.Client, len(list))
	for i, c := range list {
		out[i] = election.Client{At: c.At, Port: c.To.Port()}
	}
	return out
}

// clientsAt are the connections of clients that these may be: a client has one to one of the addresses of its family.
func clientsAt(addresses []netip.Addr, list []election.Client) (out []spreadtables.Client) {
	for _, c := range list {
		for _, a := range addresses {
			if a.Is4() == c.At.Addr().Is4() {
				out = append(out, spreadtables.Client{At: c.At, To: netip.AddrPortFrom(a, c.Port)})
			}
		}
	}
	return out
}
