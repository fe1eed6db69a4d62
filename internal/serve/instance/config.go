package instance

import (
	"context"
	"net/netip"
	"time"

	"github.com/keepvip/keepvip/election"
	"github.com/keepvip/keepvip/internal/check/health"
)

// Config describes one entry of vips: one virtual address, or several that move together.
type Config struct {
	Name string
	// Place finds the interface and the own address there. The error says what is missing. It is called from the instance's goroutine.
	Place func() (Place, error)
	// Elect makes an elector for a term at p. The returned function gives back what it holds, after
	// Run has returned.
	Elect func(p Place) (election.Elector, func(), error)
	// Lease is for how long this node may serve after it has last shown that it does, as by an advertisement.
	Lease time.Duration
	// Adjust passes a change of configuration to a running elector; nil when nothing can be changed.
	Adjust func(e election.Elector, p Place)
	// Serve makes the service, for the life of the instance. The service says by blocked, from any goroutine, whenever it becomes able
	// or unable to serve; blocked never blocks.
	Serve func(blocked func(Blocked)) Service
	// Reconfigure passes a change of configuration to a running service; nil when nothing can be changed.
	Reconfigure func(s Service)
	// Checks decide, together, how fit this node is; none: always fit.
	Checks []Check
	// Priority is the configured one, which the weights of Checks move.
	Priority uint8
	// Preempt tells that a fit node of higher priority takes the addresses from one of lower priority; for status.
	Preempt bool
	// ReleaseWhenUnhealthy keeps an unhealthy node out altogether. Otherwise it only comes last.
	ReleaseWhenUnhealthy bool

	// Served tells of addresses that are somebody else's whether another node serves them by now; nil: that is not known. It ends with its
	// context.
	Served func(ctx context.Context) bool

	// HostOf is an own address of the host of a MAC, of those for which ok says true, as the kernel knows it; nil: it does not tell.
	HostOf func(p Place, mac string, ok func(netip.Addr) bool) netip.Addr
	// Peers are the other nodes where the configuration lists them.
	Peers []netip.Addr

	// Report is told each change of what this node is to the addresses, in order; nil: nobody is. It never blocks, and calls nothing of the
	// instance.
	Report func(Report)
	// TookOver is told each time this node has become the holder, and how long it took from the decision until the addresses were bound and
	// announced; nil: nobody is. It never blocks.
	TookOver func(took time.Duration)
	// Away is told, when somebody holds the addresses again, for how long nobody did, as heard here; nil: nobody is. It never blocks.
	Away func(away time.Duration)
	// Moved is told each change of the role or of the holder, in order, and each fault, at most a beat after it began; nil: nobody is. It is
	// called, from several goroutines, between a decision and what the election does next, so it only keeps the Transition for another goroutine: it never blocks, and calls nothing of the instance.
	Moved func(Transition)

	// Mode says whose the addresses are; the zero Mode is ModeInternal. MakeExternal makes it ModeExternal.
	Mode Mode
	// Leaving goes on for a while with addresses that have become somebody else's; nil: it does not.
	Leaving *Leaving
	// Endpoint is where clients connect, such as "10.77.0.100:6443"; empty: no port is known. Interim is where they do until somebody is known for the
	// first time that holds the addresses; empty: there too.
	Endpoint, Interim string

	// Uncovered is why clients are, or would be, refused at an address although the service is well: it listens elsewhere; empty: they are not. holds:
	// this node has the addresses. Nil: nobody knows a port. It returns soon, and when ctx ends.
	Uncovered func(ctx context.Context, holds bool) (why string)
	// Outside looks at the addresses while another node holds them; nil: nobody knows a port, or the load is spread.
	Outside *Outside
	// Unrouted is why what this node says from an address does not leave it as what it says from its own does; the zero Unrouted: it does, as far
	// as is known. Nil: nobody looks. It returns soon.
	Unrouted func() Unrouted
	// Lacks is why addresses of one family cannot be bound here now, while others of the entry can; empty: all can, as far as is known. Nil: nobody looks.
	Lacks func() string
	// Outages are for how long clients miss the address at most when a drill is as it should be.
	Outages Outages
	// Port is where clients connect, as far as the checks say; 0: they do not.
	Port uint16

	// Shown in status and metrics.
	Addresses []netip.Prefix
	VRID      uint8
	Group     string // of instances that move together; empty: alone
	Local     bool   // nobody is elected: each fit node serves, and knows nothing of the others
	Cluster   bool   // the leader of the node's Raft cluster holds this one, and every other with Cluster
}

// Check is one health check. Its functions are safe from any goroutine.
type Check struct {
	// Name is unique in the instance; empty for one that has none.
	Name string
	// ID names what the check does; one with the same Name and ID goes on when the configuration changes.
	ID string
	// Weight is 0 for a condition, without which the node is not fit. Otherwise it moves the priority: see [Config.Combine].
	Weight int
	// Numbered is a check whose verdicts say by their Points what they move the priority by, in place of the Weight; while it is unhealthy the
	// node is not fit.
	Numbered bool
	// Run probes until ctx ends and reports the first verdict and every change. It is called once.
	Run func(ctx context.Context, report func(health.Verdict))
	// Alone has damping end while that says that nobody else is good, as [health.Checker.Alone]; nil: it never does. It is called before Run.
	Alone func(alone func(context.Context) bool)
	// Verdict is the newest verdict with its counters, for status.
	Verdict func() health.Verdict
	// Fresh takes one look that begins now, while Run runs; the verdict is Healthy only if that look was good, too.
	Fresh func(ctx context.Context) health.Verdict
}
