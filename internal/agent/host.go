package agent

import (
	"net/netip"
	"time"
)

// Place is where an instance belongs on this host.
type Place struct {
	Index  int        // of the interface
	Name   string     // of the interface
	Source netip.Addr // own address there, of the family that carries the election
}

// Binding is an address on an interface.
type Binding struct {
	Index  int
	Prefix netip.Prefix
}

// Where is what decides the place of an instance.
type Where struct {
	Addresses []netip.Prefix // the first one decides
	Interface string         // empty: the interface whose subnet holds the first address
	Peers     []netip.Addr   // unicast: the nodes' own addresses, this node's usually among them
}

// Host is this machine's network. Its methods are called from several goroutines.
type Host interface {
	// Place finds the interface and the own address there. The error says what is missing.
	Place(w Where) (Place, error)
	// Bound lists where any of the addresses is on this host, with whatever prefix length, as last seen.
	Bound(addresses []netip.Prefix) []Binding
	// Bind adds an address, or renews it; no error when it is there already.
	Bind(b Binding) error
	// Unbind removes an address; no error when it is not there, or its interface is gone.
	Unbind(b Binding) error
	// Announce sends one announcement for each address.
	Announce(p Place, addresses []netip.Addr) error
}

// Schedule says when to announce. It belongs to one goroutine.
type Schedule interface {
	// Restart begins anew; the first announcement is due at once.
	Restart(now time.Time)
	// Stop ends it.
	Stop()
	// Next is when the next announcement is due; false when none is.
	Next() (time.Time, bool)
	// Due reports whether one is due at now, and takes it off the schedule.
	Due(now time.Time) bool
}
