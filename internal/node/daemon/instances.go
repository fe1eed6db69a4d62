package daemon

import (
	"cmp"
	"log/slog"
	"net/netip"
	"sync/atomic"
	"time"

	"github.com/keepvip/keepvip/arp"
	"github.com/keepvip/keepvip/election"
	"github.com/keepvip/keepvip/election/virtualrouter"
	"github.com/keepvip/keepvip/internal/config"
	"github.com/keepvip/keepvip/internal/kernel/fence"
	"github.com/keepvip/keepvip/internal/node/coverage"
	"github.com/keepvip/keepvip/internal/node/history"
	"github.com/keepvip/keepvip/internal/node/hook"
	"github.com/keepvip/keepvip/internal/node/replies"
	"github.com/keepvip/keepvip/internal/serve/instance"
	"github.com/keepvip/keepvip/internal/serve/service/address"
	"github.com/keepvip/keepvip/internal/serve/service/route"
	"github.com/keepvip/keepvip/internal/serve/service/unbound"
	"github.com/keepvip/keepvip/members/pulse"
	"github.com/keepvip/keepvip/members/subscription"
	"github.com/keepvip/keepvip/vrrp"
)

// builder turns the configuration into instances.
type builder struct {
	memberSockets *memberSockets
	vrrpSockets   *vrrpSockets
	earSockets    *earSockets
	fences        *fence.Links
	host          *host
	probings      *probings
	near          neighbours
	log           *slog.Logger
	groups        groups
	hooks         *hook.Hooks
	past          *history.Log
	raft          *raftNode
	timings       *timings
	newest        atomic.Pointer[config.Config] // nil: there is none yet
	followers     *subscription.Server
	coverage      *coverage.Looker
	replies       *replies.Looker
	keyed         func() bool // members prove by a key that they are members; nil: they do not
}

// instance makes v, one of whole, of which there may be hundreds: what it keeps of v is one copy.
func (b *builder) instance(v config.VIP, whole *config.Config) (instance.Config, error) {
	in := instance.Config{
		VIP: v, Whole: whole, Maker: b,
		Place:    func() (instance.Place, error) { return b.host.placeOf(v) },
		Report:   func(r instance.Report) { b.hooks.Report(v.Name, changeOf(v, r)) },
		Moved:    b.past.Add,
		HostOf:   b.earSockets.hostOf,
		TookOver: b.timings.takeover,
		Away:     b.timings.away,
	}
	if v.External() {
		in.Served = served(v, b.near)
	} else {
		in.Lease, in.Outages = electors[v.Election].lease(v, whole)
		if !v.Local() && !v.HooksOnly { // elsewhere connections are translated, and nothing is bound
			in.Uncovered = b.coverage.Why(&v)
			in.Outside = b.host.outside(v, len(whole.VIPs))
			in.Lacks = b.host.lacks(v)
			in.Unrouted = b.host.unrouted(&v, b.replies)
		}
	}
	checkers, err := checkersOf(v, b.near, b.probings, b.log.With("vip", v.Name))
	for _, c := range checkers {
		c.Observe(b.timings.probe)
		in.Checks = append(in.Checks, b.host.seen.whereServed(v, c, checkOf(c)))
	}
	return in, err
}

// placeOf finds where v belongs. What is external belongs nowhere.
func (h *host) placeOf(v config.VIP) (instance.Place, error) {
	switch {
	case v.External():
		return instance.Place{}, nil
	case v.Local():
		return h.routed(v)
	}
	p, err := h.seen.now().places(v)
	if err != nil {
		return p, err
	}
	return h.bearers.bearing(p, v)
}

// instances makes some of the virtual addresses of whole.
func (b *builder) instances(vips []config.VIP, whole *config.Config) ([]instance.Config, error) {
	out := make([]instance.Config, len(vips))
	for i, v := range vips {
		in, err := b.instance(v, whole)
		if err != nil {
			return nil, err
		}
		out[i] = in
	}
	return out, nil
}

// Elect implements instance.Maker.
func (b *builder) Elect(in *instance.Config, p instance.Place) (election.Elector, func(), error) {
	if in.VIP.External() {
		return b.talkBeside(in)
	}
	return electors[in.VIP.Election].elect(b, in, p)
}

// Serve implements instance.Maker.
func (b *builder) Serve(in *instance.Config, blocked func(election.Fitness)) instance.Service {
	switch {
	case in.VIP.Local() && len(in.VIP.SpreadPorts()) > 0:
		return b.spreadByRoutes(in, blocked)
	case in.VIP.Local():
		return route.New(in.VIP, b.routes(), b.log.With("vip", in.VIP.Name))
	case in.VIP.HooksOnly:
		return unbound.Service{}
	}
	return b.serveAddresses(in, blocked)
}

// way is how holders are elected.
type way struct {
	elect func(b *builder, in *instance.Config, p instance.Place) (election.Elector, func(), error)
	// lease is for how long a node may serve v, one of whole, after it has last shown that it does, and what clients miss of a move.
	lease func(v config.VIP, whole *config.Config) (time.Duration, instance.Outages)
	// kept is what the kernel has to know of it.
	kept func(v config.VIP) kernelLease
}

var electors = map[config.Election]way{
	config.ElectionVRRP:  {(*builder).electByVRRP, leaseByVRRP, keptByVRRP},
	config.ElectionRaft:  {(*builder).electByRaft, leaseByRaft, keptByProcess},
	config.ElectionLocal: {(*builder).electLocally, noLease, keptByProcess},
}

// keptByProcess is the lease of an election that only this process renews.
func keptByProcess(config.VIP) kernelLease { return kernelLease{} }

// kernelLease is what the kernel has to know of an election, beside instance.Config.Lease, to keep its lease. The zero kernelLease is that
// of one whose lease only this process renews.
type kernelLease struct {
	// advert is the packet that renews the lease as it leaves a place; nil: none does.
	advert func(p instance.Place) fence.Advert
	// paced is for how long after a change to a longer lease the others may still go by the shorter one.
	paced time.Duration
}

var _, _ instance.Adjuster = byVRRP{}, byRaft{}

// whereOf is where v belongs. The members of a cluster have their list of peers elsewhere.
func whereOf(v config.VIP) where {
	w := where{addresses: v.Addresses, link: v.Interface}
	if len(v.Addresses) == 0 {
		w.addresses = []netip.Prefix{netip.PrefixFrom(v.First(), v.First().BitLen())}
	}
	if len(v.Elsewhere) > 0 {
		w.addresses = decidingOf(v)
	}
	if v.Election == config.ElectionVRRP {
		w.peers, w.source = v.VRRP.Peers, v.VRRP.Source
	}
	return w
}

// addressPart is how the addresses of v on one interface are served. v is the entry of in, with these addresses alone.
func (b *builder) addressPart(in *instance.Config, kept kernelLease, v config.VIP, spread *address.Spread) address.Part {
	part := address.Part{
		Addresses:  boundAs(v.Addresses),
		VRID:       in.VRID(),
		Lease:      in.Lease,
		Paced:      kept.paced,
		ProbeFirst: v.ProbeBeforeBind,
		Yield:      v.OnConflict == config.Yield,
		Schedule:   scheduleOf(v.Announce),
		Crowd:      crowdOf(in.Whole),
		Reset:      resetConnections,
		Spread:     spread,
	}
	addresses := v.Bare()
	b.fence(&part, func(p instance.Place, lease, valid time.Duration) fence.Group {
		return groupOf(addresses, p, kept, lease, valid)
	})
	return part
}

// byVRRP is an elector by VRRP that follows the configuration.
type byVRRP struct {
	*virtualrouter.Elector
	build *builder
}

// Adjust implements instance.Adjuster.
func (e byVRRP) Adjust(in *instance.Config, p instance.Place) {
	crowd := crowdOf(in.Whole)
	e.Reconfigure(ticking(routerOf(in.VIP, p), in.VIP, crowd), in.VIP.First(), len(in.VIP.Addresses), spreadEvery(in.Whole))
	e.SetCandidate(e.build.host.seen.now().own.candidate(in.VIP))
}

func leaseByVRRP(v config.VIP, whole *config.Config) (time.Duration, instance.Outages) {
	lease := virtualrouter.Lease(routerOf(v, instance.Place{}))
	return lease, outagesByVRRP(v, whole.Port, lease)
}

// keptByVRRP: an Active whose interval grows sends five more advertisements at the old one.
func keptByVRRP(v config.VIP) kernelLease {
	interval, id, unicast := v.VRRP.AdvertisementInterval, v.VRRP.ID, len(v.VRRP.Peers) > 0 || v.AdvertisesAsRouter()
	return kernelLease{
		advert: func(p instance.Place) fence.Advert { return fence.Advert{Source: p.Source, VRID: id, Unicast: unicast} },
		paced:  4*interval + interval/2,
	}
}

// scheduleOf translates the option's 0, never, into the schedule's.
func scheduleOf(a config.Announce) *arp.Schedule {
	return arp.NewSchedule(arp.Burst(a.Repeat, a.Delay), cmp.Or(a.Refresh, -1), a.RefreshRepeat)
}

const (
	// ticksPerInterval is how often in an interval many addresses advertise: each time of so many.
	ticksPerInterval = 8
	// crowdTicks is from how many addresses on they do.
	crowdTicks = 16
)

// ticking makes one of many Virtual Routers advertise together with others, and one that goes by beats together with these.
func ticking(router vrrp.Config, v config.VIP, crowd int) vrrp.Config {
	switch {
	case crowd >= crowdTicks:
		router.Tick = router.Interval / ticksPerInterval
	case v.VRRP.Detector == config.DetectorFast && pulse.Every <= router.Interval/2:
		router.Tick = pulse.Every
	}
	return router
}

func (b *builder) electByVRRP(in *instance.Config, p instance.Place) (election.Elector, func(), error) {
	v := in.VIP
	many, log := len(in.Whole.VIPs), b.log.With("vip", v.Name)
	cfg := virtualrouter.Config{
		Router: ticking(routerOf(v, p), v, crowdOf(in.Whole)), Bound: len(v.Addresses), Peers: v.VRRP.Peers,
		AnyAddresses: v.VRRP.AnyAddresses, Framed: v.AdvertisesAsRouter(), Form: formOf(v.VRRP.Checksum),
		Entries: many, KernelTimer: many < crowdTicks,
	}
	wire, leave, err := b.vrrpSockets.join(p, cfg, v.VRRP, log)
	if err != nil {
		return nil, nil, err
	}
	lines, quit, err := b.memberSockets.join(&cfg, v, p, many, spreadEvery(in.Whole))
	if err != nil {
		log.Warn("the other members are not heard: plain VRRP alone", "error", err)
		lines, quit = nil, func() {}
	}
	hearing, deafen := b.earSockets.at(p)
	giveBack := func() { deafen(); quit(); leave() }
	if len(v.Elsewhere) > 0 || v.HooksOnly {
		lines = nil // the leases of other interfaces do not end with a line on this one, and what hooks move has no lease
	}
	cfg.GroupMember, cfg.Ears, cfg.NoCandidate = b.groups.member(v), hearing, !b.host.seen.now().own.candidate(v)
	judged(&cfg, lines, log)
	e, err := virtualrouter.New(cfg, wire, log)
	if err != nil {
		giveBack()
		return nil, nil, err
	}
	return byVRRP{e, b}, giveBack, nil
}

// routerOf is the Virtual Router of v at p. An advertisement has one family: addresses of the other
// are bound and released with these.
func routerOf(v config.VIP, p instance.Place) vrrp.Config {
	cfg := vrrp.Config{
		Version: v.VRRP.Version, VRID: v.VRRP.ID, Priority: topPriority(v),
		Interval: v.VRRP.AdvertisementInterval, StartupInterval: v.VRRP.StartupInterval,
		Preempt: v.VRRP.Preempt, PreemptDelay: v.VRRP.PreemptDelay,
		StartupDelay: max(v.VRRP.StartupDelay, v.VRRP.BootDelay-uptime()), DownTimerAdverts: v.VRRP.DownTimerAdverts,
		Source: p.Source, Addresses: v.Advertised(p.Source.Is4()),
	}
	if v.VRRP.Owner {
		cfg.Priority = 255
	}
	if v.VRRP.Password != "" {
		cfg.AuthType = vrrp.AuthPass
		copy(cfg.AuthData[:], v.VRRP.Password)
	}
	return cfg
}

func formOf(c config.Checksum) vrrp.ChecksumForm {
	if c == config.ChecksumMessageOnly {
		return vrrp.MessageOnly
	}
	return vrrp.PseudoHeader
}

// crowdOf is how many addresses this process keeps in all. Every entry asks.
func crowdOf(c *config.Config) int {
	n := 0
	for _, v := range c.VIPs {
		if !v.External() {
			n += len(v.Addresses)
		}
	}
	return n
}

// virtualAddresses are all that the configuration names, without those that are external: nothing of these is on this host.
func virtualAddresses(c *config.Config) []netip.Addr {
	out := make([]netip.Addr, 0, crowdOf(c))
	for _, v := range c.VIPs {
		if v.External() {
			continue
		}
		out = append(out, v.Bare()...)
	}
	return out
}
