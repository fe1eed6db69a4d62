package agent

import (
	"context"
	"fmt"
	"net/netip"
	"time"

	"github.com/keepvip/keepvip/election"
)

// Instance describes one virtual address, or several that move together.
type Instance struct {
	Name string
	Where

	// Elect makes an elector for a term at p. The returned function gives back what it holds, after
	// Run has returned.
	Elect func(p Place) (election.Elector, func(), error)
	// Fence makes the fence for a term at p, with the leases that Elect's elector keeps; nil: no fence. With
	// bound an earlier run has left addresses there: they stay silent until the first renewal.
	Fence func(p Place, bound bool) (Fence, error)
	// Refence makes a fence that Fence has made, for an instance of the same name, that of this one, with the given lease, in one step:
	// its guard, its lease and what is shut are in place throughout. With an error nothing has changed.
	Refence func(f Fence, p Place, lease time.Duration) error
	// Lease is how long the addresses answer after an advertisement, by the fence that Fence makes.
	Lease time.Duration
	// Paced is for how long after a change to a longer Lease the shorter one has to be kept: the others may
	// not know yet that they have to wait longer.
	Paced time.Duration
	// Reset ends the connections to an address that is about to go, so that clients know at once; nil: no.
	Reset func(addresses []netip.Addr) error
	// Adjust passes a change of configuration to a running elector; nil when nothing can be changed.
	Adjust func(e election.Elector, p Place)
	// Checks decide, together, how fit this node is; none: always fit.
	Checks []Check
	// Priority is the configured one, which the weights of Checks move.
	Priority uint8
	// ReleaseWhenUnhealthy keeps an unhealthy node out altogether. Otherwise it only comes last.
	ReleaseWhenUnhealthy bool
	// Crowd is how many addresses this process keeps in all; no less than this instance's own.
	Crowd int
	// ProbeFirst keeps this node from being the first to bind the addresses while a host outside the
	// election claims one of them. It never counts once a holder was heard.
	ProbeFirst bool
	// Yield gives the addresses up as long as a host outside the election claims one of them. Otherwise they
	// are defended.
	Yield bool
	// Schedule says when to announce.
	Schedule Schedule

	// Shown in status and metrics.
	VRID  uint8
	Group string // of instances that move together; empty: alone
}

// Check is one health check. Its functions are safe from any goroutine.
type Check struct {
	// Name is unique in the instance; empty for one that has none.
	Name string
	// ID names what the check does; one with the same Name and ID goes on when the configuration changes.
	ID string
	// Weight is 0 for a condition, without which the node is not fit. Otherwise it moves the priority: see Instance.fitness.
	Weight int
	// Run probes until ctx ends and reports the first verdict and every change. It is called once.
	Run func(ctx context.Context, report func(Verdict))
	// Verdict is the newest verdict with its counters, for status.
	Verdict func() Verdict
	// Fresh takes one look that begins now, while Run runs; the verdict is Healthy only if that look was good, too.
	Fresh func(ctx context.Context) Verdict
}

// Verdict is what a health check found.
type Verdict struct {
	Known     bool // false until the first result
	Healthy   bool
	Reason    string // short: "200", "connection refused"
	Hint      string // what to do about it
	Since     time.Time
	LastProbe time.Time
	Latency   time.Duration
	Probes    uint64
	Failures  uint64
	Changes   uint64 // of Healthy, the first result included
	Streak    int    // last probes in a row that speak against it
	Falls     int    // how often it flapped lately; while it is unhealthy, Rise says what that costs
	Rise      int    // good probes in a row that make an unhealthy one healthy
}

// hosts are the addresses without their prefix lengths.
func (in *Instance) hosts() []netip.Addr {
	out := make([]netip.Addr, len(in.Addresses))
	for i, p := range in.Addresses {
		out[i] = p.Addr()
	}
	return out
}

// title names the addresses in an error.
func (in *Instance) title() string {
	if n := len(in.Addresses); n > 1 {
		return fmt.Sprintf("%s and %d more", in.Addresses[0], n-1)
	}
	return in.Addresses[0].String()
}

const (
	// validLeast is the shortest lifetime of an address. The kernel counts in seconds and is up to one late.
	validLeast = 4 * time.Second
	validMost  = time.Minute
	// perValid is how many addresses are renewed at the pace of validLeast.
	perValid = 16
	// validSquare is for each pair of IPv6 addresses: the kernel looks at all of them whenever it renews one,
	// which takes it 0.3 ms with a thousand.
	validSquare = 350 * time.Microsecond
)

// Valid is how long the kernel keeps an address that is not renewed: longer for many addresses, because
// each renewal is a call and an event for everybody who watches the host.
func (in *Instance) Valid() time.Duration {
	n6 := time.Duration(0)
	for _, p := range in.Addresses {
		if p.Addr().Is6() {
			n6++
		}
	}
	rounds := (max(len(in.Addresses), in.Crowd) + perValid - 1) / perValid
	valid := max(min(validLeast*time.Duration(rounds), validMost), n6*n6*validSquare)
	return valid.Truncate(time.Second)
}

// renewAfter is when the addresses are renewed next: a third of their life later at most, and for all instances at
// the same moment, so that one look at the host serves them all.
func (in *Instance) renewAfter(now time.Time) time.Time {
	return nextMultiple(now, in.Valid()/3)
}
