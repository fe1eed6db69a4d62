package fence

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"time"
)

// Group is a set of addresses that are held together: those of one virtual router.
type Group struct {
	ID        uint32           // unique on the link, not 0; the caller's choice
	Addresses []netip.Addr     // of either family
	Advert    Advert           // the advertisement that renews the lease; the zero Advert if Share.Renew does
	Lease     time.Duration    // how long the addresses answer after the last renewal
	Guard     time.Duration    // how long the fence is in place after the last Hold; longer than Lease and than the address's own lifetime
	Spread    Spread           // ports that each member serves; none: the holder alone serves the addresses
	Answers   int              // index of the link that has the addresses and alone answers ARP for them, as one with a virtual MAC on the fence's link; 0: that one itself
	MAC       net.HardwareAddr // of that link: without a lease nothing leaves in its name but advertisements. Switches would send to this node
}

// Advert tells our own VRRP advertisements from everything else that leaves on the link: by source address and VRID. One with priority 0
// resigns and so does not renew.
type Advert struct {
	Source netip.Addr
	VRID   uint8
	// Unicast wants a packet to Source itself, which no neighbour has to be known for. One to a peer may leave when its MAC is known at last,
	// after this process.
	Unicast bool
}

func (a Advert) zero() bool { return a == Advert{} }

// errTaken: two groups have the same address.
var errTaken = errors.New("already")

func validate(groups []Group) error {
	var errs []error
	ids := map[uint32]bool{}
	owner := map[netip.Addr]uint32{}
	for _, g := range groups {
		if g.ID == 0 || ids[g.ID] {
			errs = append(errs, fmt.Errorf("group ID %d, want one of its own, not 0", g.ID))
		}
		ids[g.ID] = true
		for _, a := range g.Addresses {
			if other, taken := owner[a]; taken {
				errs = append(errs, fmt.Errorf("group %d: address %s is in group %d %w", g.ID, a, other, errTaken))
			}
			owner[a] = g.ID
		}
		errs = append(errs, g.validate())
	}
	return errors.Join(errs...)
}

func (g Group) validate() error {
	plain := func(a netip.Addr) bool { return a.IsValid() && !a.Is4In6() && a.Zone() == "" }
	switch {
	case len(g.Addresses) == 0:
		return fmt.Errorf("group %d: no addresses", g.ID)
	case !g.Advert.zero() && (g.Advert.VRID == 0 || !plain(g.Advert.Source)):
		return fmt.Errorf("group %d: advertisement of VRID %d from %s, want both set", g.ID, g.Advert.VRID, g.Advert.Source)
	case g.Lease < time.Millisecond:
		return fmt.Errorf("group %d: lease %s, want 1ms or more", g.ID, g.Lease)
	case g.Guard <= g.Lease:
		return fmt.Errorf("group %d: guard %s, want more than the lease of %s", g.ID, g.Guard, g.Lease)
	}
	if i := slices.IndexFunc(g.Addresses, func(a netip.Addr) bool { return !plain(a) }); i >= 0 {
		return fmt.Errorf("group %d: address %q, want a plain IPv4 or IPv6 address", g.ID, g.Addresses[i])
	}
	if err := g.Spread.validate(); err != nil {
		return fmt.Errorf("group %d: %w", g.ID, err)
	}
	return nil
}
