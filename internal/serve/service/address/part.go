package address

import (
	"context"
	"fmt"
	"net/netip"
	"time"

	"github.com/keepvip/keepvip/arp"
	"github.com/keepvip/keepvip/internal/serve/instance"
)

// Part is what of an instance's addresses is on one interface.
type Part struct {
	Addresses []netip.Prefix
	// Place is where they belong; nil: where the election takes place. At most one part has none, and it comes first.
	Place func() (instance.Place, error)
	VRID  uint8 // of the Virtual Router; 0: none
	// Fence makes the fence for a term at p, with the leases that the elector keeps; nil: no fence. With
	// bound an earlier run has left addresses there: they stay silent until the first renewal.
	Fence func(p instance.Place, bound bool) (Fence, error)
	// Refence makes a fence that Fence has made, for an instance of the same name, that of this one, with the given lease, in one step:
	// its guard, its lease and what is shut are in place throughout. With an error nothing has changed.
	Refence func(f Fence, p instance.Place, lease time.Duration) error
	// Lease is how long the addresses answer after an advertisement, by the fence that Fence makes.
	Lease time.Duration
	// Paced is for how long after a change to a longer Lease the shorter one has to be kept: the others may
	// not know yet that they have to wait longer.
	Paced time.Duration
	// Reset ends the connections to addresses that are about to go, so that clients know at once, and returns how many it has ended; nil: no.
	// It ends with ctx.
	Reset func(ctx context.Context, addresses []netip.Addr) (int, error)
	// Spread are ports that another service spreads over the members: each of them serves these, whoever holds the addresses; nil: the
	// holder serves all.
	Spread *Spread
	// Crowd is how many addresses this process keeps in all; no less than this instance's own.
	Crowd int
	// ProbeFirst keeps this node from being the first to bind the addresses while a host outside the
	// election claims one of them. It never counts once a holder was heard.
	ProbeFirst bool
	// Yield gives the addresses up as long as a host outside the election claims one of them. Otherwise they
	// are defended.
	Yield bool
	// Schedule says when to announce. It belongs to the service's goroutine.
	Schedule *arp.Schedule
}

// hosts are the addresses without their prefix lengths.
func (p *Part) hosts() []netip.Addr {
	out := make([]netip.Addr, len(p.Addresses))
	for i, a := range p.Addresses {
		out[i] = a.Addr()
	}
	return out
}

// title names the addresses in an error.
func (p *Part) title() string {
	if n := len(p.Addresses); n > 1 {
		return fmt.Sprintf("%s and %d more", p.Addresses[0], n-1)
	}
	return p.Addresses[0].String()
}

const (
	// validLeast is the shortest lifetime of an address. The kernel counts in seconds and is up to one late.
	validLeast = 4 * time.Second
	validMost  = time.Minute
	// perValid is how many addresses each further validLeast is for. Twice as many are renewed at the pace of the first.
	perValid = 16
	// validSquare is for each pair of IPv6 addresses: the kernel looks at all of them whenever it renews one,
	// which takes it 0.3 ms with a thousand.
	validSquare = 350 * time.Microsecond
)

// Valid is how long the kernel keeps an address that is not renewed: longer for many addresses, because
// each renewal is a call and an event for everybody who watches the host.
func (p *Part) Valid() time.Duration {
	n6 := time.Duration(0)
	for _, a := range p.Addresses {
		if a.Addr().Is6() {
			n6++
		}
	}
	rounds := max((max(len(p.Addresses), p.Crowd)-1)/perValid, 1)
	valid := max(min(validLeast*time.Duration(rounds), validMost), n6*n6*validSquare)
	return valid.Truncate(time.Second)
}

// renewAfter is when the addresses are renewed next: a third of their life later at most, and for all instances at
// the same moment, so that one look at the host serves them all.
func (p *Part) renewAfter(now time.Time) time.Time {
	return instance.NextMultiple(now, p.Valid()/3)
}
