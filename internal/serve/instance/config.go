package instance

import (
	"cmp"
	"context"
	"net/netip"
	"time"

	"github.com/keepvip/keepvip/election"
	"github.com/keepvip/keepvip/internal/check/health"
	"github.com/keepvip/keepvip/internal/config"
)

// Config describes one entry of vips: one virtual address, or several that move together.
type Config struct {
	VIP   config.VIP     // the entry as it is served
	Whole *config.Config // that VIP is of
	Maker Maker

	// Place finds the interface and the own address there. The error says what is missing. It is called from the instance's goroutine.
	Place func() (Place, error)
	// Lease is for how long this node may serve after it has last shown that it does, as by an advertisement.
	Lease time.Duration
	// Checks decide, together, how fit this node is; none: always fit.
	Checks []Check

	// Served tells of addresses that are somebody else's whether another node serves them by now; nil: that is not known. It ends with its
	// context.
	Served func(ctx context.Context) bool

	// HostOf is an own address of the host of a MAC, of those for which ok says true, as the kernel knows it; nil: it does not tell.
	HostOf func(p Place, mac string, ok func(netip.Addr) bool) netip.Addr

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

	// Leaving goes on for a while with addresses that have become somebody else's; nil: it does not.
	Leaving *Leaving
	// Interim is where clients connect until somebody is known for the first time that holds the addresses; empty: at the endpoint of VIP.
	Interim string

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
}

// Maker makes the parts of instances.
type Maker interface {
	// Elect makes an elector for a term at p. The returned function gives back what it holds, after Run has returned. For an entry whose
	// addresses are external it is one that holds nothing, by which the nodes tell each other how they are; nil: they do not.
	Elect(in *Config, p Place) (election.Elector, func(), error)
	// Serve makes the service, for the life of the instance. The service says by blocked, from any goroutine, whenever it becomes able
	// or unable to serve: Out and Wait count. blocked never blocks.
	Serve(in *Config, blocked func(election.Fitness)) Service
}

// Adjuster is an elector that takes over another configuration while it runs.
type Adjuster interface {
	Adjust(next *Config, p Place)
}

// apart tells whether the instance takes part in no election, because its addresses are somebody else's.
func (in *Config) apart() bool { return in.VIP.External() }

// cluster tells whether the leader of the node's Raft cluster holds the addresses, and those of every other such instance.
func (in *Config) cluster() bool { return in.VIP.Election == config.ElectionRaft && !in.VIP.External() }

// vrrp tells whether the holder is elected by VRRP.
func (in *Config) vrrp() bool { return in.VIP.Election == config.ElectionVRRP && !in.VIP.External() }

// VRID is that of the Virtual Router; 0: there is none.
func (in *Config) VRID() uint8 {
	if !in.vrrp() {
		return 0
	}
	return in.VIP.VRRP.ID
}

// releases tells whether an unhealthy node is kept out altogether. Otherwise it only comes last. Of an election that is none the elector knows.
func (in *Config) releases() bool {
	return in.VIP.Check.WhenAllUnhealthy == config.Release && !in.VIP.Local()
}

// mode says whose the addresses are.
func (in *Config) mode() config.Mode {
	if in.Leaving != nil {
		return config.ModeExternal
	}
	return cmp.Or(in.VIP.Mode, config.ModeInternal)
}

// endpoint is where clients connect, such as "10.77.0.100:6443"; empty: no port is known.
func (in *Config) endpoint() string {
	if in.Leaving != nil {
		return in.Leaving.Endpoint
	}
	return in.VIP.HostPort()
}

// Check is one health check. Its functions are safe from any goroutine.
type Check struct {
	// Name is unique in the instance; empty for one that has none.
	Name string
	// ID names what the check does; one with the same Name and ID goes on when the configuration changes.
	ID string
	// Weight is 0 for a condition, without which the node is not fit. Otherwise it moves the priority: see [Config.combine].
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
