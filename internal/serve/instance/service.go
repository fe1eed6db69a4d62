package instance

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"time"

	"github.com/keepvip/keepvip/election"
	"github.com/keepvip/keepvip/internal/base/code"
)

// Service makes the host do what an election has decided. One is made for the life of an instance; it serves one term after the
// other, and keeps between them what it has learned. All methods are called by the instance; Apply and Status may come while
// another one runs.
type Service interface {
	// Begin opens a term: decisions follow. The host is as it was.
	Begin(t Term)
	// Apply makes this node what d says. It is desired state: the same again changes nothing. With an error of Serve nothing is
	// served; with one of Quiet nothing has changed. Quiet after anything but Serve changes nothing. Between terms there is only
	// Off, by which nothing of the service is left on the host. An end of ctx ends the wait for what goes on before.
	Apply(ctx context.Context, d election.Decision) error
	// HostChanged says that something on this host is, or may be, not as it was. p is the term's place, with what is new of it.
	HostChanged(p Place)
	// End closes the term, after its last decision.
	End()
	// Status is safe from any goroutine.
	Status() ServiceStatus
	// Close ends the service, whatever the newest decision was, and leaves nothing of it on the host. It is the last call.
	Close() error
}

// Announcer is a Service that tells others where the address is.
type Announcer interface {
	// Announce does so at once, for an operator; safe from any goroutine. The error is ErrNotHeld where there is nothing to tell.
	Announce() error
}

// Drainer is a Service that can go on with the connections it has after it has passed the address on.
type Drainer interface {
	// Drain asks for that, until then at the latest; with the zero Time it ends, or will not begin. Others know when it returns.
	Drain(until time.Time)
	// Draining tells whether it does so, or may do so as soon as the next node serves, and how many connections were reset in the end.
	Draining() (busy bool, reset int)
}

// Reconfigurer is a Service that takes over another configuration of its instance. What has not changed is not touched.
type Reconfigurer interface {
	Reconfigure(next *Config)
}

// Judged is a Service that follows what this node could do for clients: Term.Ready and Term.Healthy.
type Judged interface {
	// Judged says that they may say something else now. It does not wait; any goroutine calls it.
	Judged()
}

// ErrNotHeld answers a request that only the holder can fulfil.
var ErrNotHeld = errors.New("this node does not hold the address")

// Place is where an instance belongs on this host.
type Place struct {
	Index  int        // of the interface
	Name   string     // of the interface
	Source netip.Addr // own address there, of the family that carries the election
	MAC    string     // of the interface
	Stay   uint32     // another one after the carrier was gone for a moment

	Elsewhere string // other interfaces that addresses are on, such as "eth1=3"; "": none

	Bearer Bearer // has the addresses in place of the interface; the zero Bearer: there is none
}

// Bearer is an interface of its own for a virtual MAC, on the one that the election runs on.
type Bearer struct {
	Index int    `json:"-"`
	Name  string `json:"interface"`
	MAC   string `json:"mac"`
}

// Scoped is an address as a socket at the place needs it: a link-local one of IPv6 has the interface for its zone.
func (p Place) Scoped(a netip.Addr) netip.Addr {
	if a.IsLinkLocalUnicast() {
		return a.WithZone(p.Name) // none where it is of IPv4
	}
	return a
}

// Holds is the interface that has the addresses, and from which they are announced.
func (p Place) Holds() Place {
	if p.Bearer.Index != 0 {
		p.Index, p.Name, p.MAC = p.Bearer.Index, p.Bearer.Name, p.Bearer.MAC
	}
	return p
}

// Term is one run of an elector at one place, as its service sees it.
type Term struct {
	Place   Place
	Elector Elector // it may be an election.Extender, or an election.Spreader, too
	// Ready says what this node could do for clients now, and Healthy whether a check of that name is good; any goroutine may ask.
	Ready   func() Readiness
	Healthy func(check string) bool
}

// Elector is what a service may ask its elector, from any goroutine.
type Elector interface {
	LeaseEnd() time.Time
	Status() election.Status
}

// ServiceStatus is a service's part of Status. What it does not have is zero.
type ServiceStatus struct {
	Passing           bool // another node is taking the address, or has taken it while connections are drained here
	Fence             FenceStatus
	Lapsed            time.Time // since when the kernel has silenced a holder whose elector has a lease; zero: it does not
	Missing           string    // why a holder serves one family alone; empty: it serves all
	Conflicts         []Conflict
	Announcements     uint64
	AnnouncementFails uint64
	Restored          uint64
	Spread            *SpreadStatus // nil: the holder serves everything
	Routes            *RouteStatus  // nil: nothing is announced by routes
	Leases            []LeaseStatus // that this node keeps at a DHCP server
}

// LeaseStatus is the lease of one address at a DHCP server.
type LeaseStatus struct {
	Address  netip.Addr `json:"address"`
	ClientID string     `json:"clientID"`          // by which the server knows the lease
	Server   netip.Addr `json:"server,omitzero"`   // absent: there is no lease yet
	Renewed  time.Time  `json:"renewed,omitzero"`  // when the server granted it last
	Expires  time.Time  `json:"expires,omitzero"`  // absent: there is no lease, or it is for ever
	Problem  string     `json:"problem,omitempty"` // why there is none, or why it may end
	Code     code.Code  `json:"code,omitempty"`    // of Problem
}

// RouteStatus is about routes to the addresses.
type RouteStatus struct {
	Table    int    `json:"table"`
	Protocol int    `json:"protocol"`
	Present  int    `json:"present"` // how many the kernel had when it was asked last; 0 while this node does not serve, unless they cannot be taken away
	Puts     uint64 `json:"-"`       // times all of them were put, also while they were there
	Lost     uint64 `json:"-"`       // times some were gone, and were put back
}

// FenceStatus says whether the kernel would silence the address without a lease.
type FenceStatus struct {
	Standing bool      `json:"standing"`
	Reason   string    `json:"reason,omitempty"`  // why not
	Code     code.Code `json:"code,omitempty"`    // of Reason, or else of Uncovered, or for a day of a repair
	Repairs  uint64    `json:"repairs"`           // how often it was not in place, and was built anew
	Repaired time.Time `json:"repaired,omitzero"` // the last time
	// Uncovered is what may go on answering although the fence is in place.
	Uncovered string `json:"uncovered,omitempty"`
	// Route tells that there is no fence, because no address is bound: Standing says whether the kernel takes the route away with the process.
	Route bool `json:"route,omitempty"`
	// Unbound tells that there is nothing to silence, because hooks move what there is to move: Standing is true.
	Unbound bool `json:"unbound,omitempty"`
	// Renewals are those of the lease by transaction, RenewalErrors those of them that the kernel refused, and Lapses the times it had no
	// lease although the elector had one. They are for metrics.
	Renewals, RenewalErrors, Lapses uint64 `json:"-"`
}

// Conflict is a host outside the election that speaks as the owner of a virtual address (RFC 5227
// section 2.4, RFC 4862 section 5.4).
type Conflict struct {
	Address  netip.Addr `json:"address"`
	MAC      string     `json:"mac"`
	Since    time.Time  `json:"since"`
	LastSeen time.Time  `json:"lastSeen"`
	Code     code.Code  `json:"code,omitempty"`
	VRRP     *Router    `json:"vrrp,omitempty"`  // what it advertises by VRRP, if that was heard
	Member   netip.Addr `json:"member,omitzero"` // the own address of that host, if it is a member's or a listed peer's
}

// Router is what a host says of itself in an advertisement that is none of this election.
type Router struct {
	Source   netip.Addr `json:"from"`
	Version  uint8      `json:"version"`
	VRID     uint8      `json:"vrid"`
	Priority uint8      `json:"priority"`
}

// String is a clause about the host: whatever speaks VRRP and is no keepvip of this group is most often keepalived.
func (r Router) String() string {
	return fmt.Sprintf("that host sends VRRP from %s with version %d, VRID %d, priority %d (keepalived?)", r.Source, r.Version, r.VRID, r.Priority)
}
