package daemon

import (
	"fmt"
	"log/slog"
	"net/netip"
	"time"

	"github.com/keepvip/keepvip/arp"
	"github.com/keepvip/keepvip/election"
	"github.com/keepvip/keepvip/election/virtualrouter"
	"github.com/keepvip/keepvip/internal/config"
	"github.com/keepvip/keepvip/internal/kernel/fence"
	"github.com/keepvip/keepvip/internal/kernel/link"
	"github.com/keepvip/keepvip/internal/node/coverage"
	"github.com/keepvip/keepvip/internal/node/history"
	"github.com/keepvip/keepvip/internal/node/hook"
	"github.com/keepvip/keepvip/internal/node/replies"
	"github.com/keepvip/keepvip/internal/serve/instance"
	"github.com/keepvip/keepvip/internal/serve/service/address"
	"github.com/keepvip/keepvip/internal/serve/service/unbound"
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
	near          neighbours
	log           *slog.Logger
	groups        groups
	hooks         *hook.Hooks
	past          *history.Log
	raft          *raftNode
	timings       *timings
	spreading     spreading
	followers     *subscription.Server
	coverage      *coverage.Looker
	replies       *replies.Looker
	keyed         func() bool // members prove by a key that they are members; nil: they do not
}

// instance makes v, one of whole.
func (b *builder) instance(v config.VIP, whole *config.Config) (instance.Config, error) {
	in := instance.Config{
		Name: v.Name, Addresses: v.Addresses, Group: v.Group, Priority: v.Priority, Port: portOf(v),
		ReleaseWhenUnhealthy: v.Check.WhenAllUnhealthy == config.Release,
		Place:                func() (instance.Place, error) { return b.host.seen.places(v) },
		Report:               func(r instance.Report) { b.hooks.Report(v.Name, changeOf(v, r)) },
		Moved:                b.past.Add,
		Peers:                v.VRRP.Peers,
		HostOf: func(p instance.Place, mac string, ok func(netip.Addr) bool) netip.Addr {
			return link.HostOf(p.Index, mac, ok)
		},
		TookOver: b.timings.takeover,
		Away:     b.timings.away,
	}
	in.Endpoint = v.HostPort()
	if v.External() {
		in.MakeExternal(externalText(v), b.talker(v, len(whole.VIPs)))
		in.Served = served(v, b.near)
	} else if err := b.holdAddresses(&in, v, whole); err != nil {
		return in, err
	} else if !v.Local() && !v.HooksOnly { // elsewhere connections are translated, and nothing is bound
		in.Uncovered = b.coverage.Why(v)
		in.Lacks = b.host.lacks(v)
		in.Unrouted = b.host.unrouted(v, b.replies)
	}
	checkers, err := checkersOf(v, b.near, b.log.With("vip", v.Name))
	for _, c := range checkers {
		c.Observe(b.timings.probe)
		in.Checks = append(in.Checks, b.host.seen.whereServed(v, c, checkOf(c)))
	}
	return in, err
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

// holdAddresses has an instance take part in an election, and serve what is elected.
func (b *builder) holdAddresses(in *instance.Config, v config.VIP, whole *config.Config) error {
	elect, known := electors[v.Election]
	if !known {
		return fmt.Errorf("vips[%s]: no elector for election %q", v.Name, v.Election)
	}
	kept := elect(b, in, v, whole)
	if v.Local() {
		b.serveByRoute(in, v)
		return nil
	}
	if v.HooksOnly {
		in.Serve = func(func(instance.Blocked)) instance.Service { return unbound.Service{} }
		return nil
	}
	spread, end := spreadOf(v)
	b.serveAddresses(in, kept, v, whole, spread)
	b.joinSpread(in, v, spread, end)
	if v.Routed() {
		b.joinRoute(in, v)
	}
	return nil
}

// electors have the holder of v, one of whole, elected: each sets Elect, Lease and what else of in is about the election.
var electors = map[config.Election]func(b *builder, in *instance.Config, v config.VIP, whole *config.Config) kernelLease{
	config.ElectionVRRP:  (*builder).electByVRRP,
	config.ElectionRaft:  (*builder).electByRaft,
	config.ElectionLocal: (*builder).electLocally,
}

// kernelLease is what the kernel has to know of an election, beside instance.Config.Lease, to keep its lease. The zero kernelLease is that
// of one whose lease only this process renews.
type kernelLease struct {
	// advert is the packet that renews the lease as it leaves a place; nil: none does.
	advert func(p instance.Place) fence.Advert
	// paced is for how long after a change to a longer lease the others may still go by the shorter one.
	paced time.Duration
}

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

// serveAddresses has an instance hold its addresses, whichever way it is elected.
func (b *builder) serveAddresses(in *instance.Config, kept kernelLease, v config.VIP, whole *config.Config, spread *address.Spread) {
	log := b.log.With("vip", in.Name)
	if links := v.Links(); len(links) > 1 || links[0].Interface != "" {
		b.serveSeveral(in, b.partsOf(links, in, kept, v, whole), log)
		return
	}
	cfg := b.addressConfig(in, kept, v, whole, spread)
	in.Serve = func(blocked func(instance.Blocked)) instance.Service {
		return address.New(cfg, b.host, log, blocked)
	}
	in.Reconfigure = func(s instance.Service) {
		if s, ok := s.(*address.Service); ok {
			s.Reconfigure(cfg)
		}
	}
}

// addressConfig is how the addresses of v on one interface are served.
func (b *builder) addressConfig(in *instance.Config, kept kernelLease, v config.VIP, whole *config.Config, spread *address.Spread) address.Config {
	cfg := address.Config{
		Addresses:  boundAs(v.Addresses),
		VRID:       in.VRID,
		Lease:      in.Lease,
		Paced:      kept.paced,
		ProbeFirst: v.ProbeBeforeBind,
		Yield:      v.OnConflict == config.Yield,
		Schedule:   arp.NewSchedule(scheduleOf(v.Announce)),
		Crowd:      len(virtualAddresses(whole)),
		Reset:      resetConnections,
		Spread:     spread,
	}
	b.fence(&cfg, func(p instance.Place, lease, valid time.Duration) fence.Group {
		return groupOf(v, p, kept, lease, valid)
	})
	return cfg
}

// electByVRRP has the holder elected by VRRP.
func (b *builder) electByVRRP(in *instance.Config, v config.VIP, whole *config.Config) kernelLease {
	crowd, many := len(virtualAddresses(whole)), len(whole.VIPs)
	pause := spreadEvery(whole)
	in.VRID, in.Preempt = v.VRRP.ID, v.VRRP.Preempt
	in.Elect = func(p instance.Place) (election.Elector, func(), error) { return b.elect(v, p, crowd, many, pause) }
	in.Adjust = func(e election.Elector, p instance.Place) {
		if r, ok := e.(*virtualrouter.Elector); ok {
			r.Reconfigure(ticking(routerOf(v, p), crowd), len(v.Addresses), pause)
			r.SetCandidate(b.host.seen.candidate(v))
		}
	}
	in.Lease = virtualrouter.Lease(routerOf(v, instance.Place{}))
	in.Outages = outagesByVRRP(v, whole.Port, in.Lease)
	// An Active whose interval grows sends five more advertisements at the old one.
	interval := v.VRRP.AdvertisementInterval
	return kernelLease{
		advert: func(p instance.Place) fence.Advert {
			return fence.Advert{Source: p.Source, VRID: v.VRRP.ID, Unicast: len(v.VRRP.Peers) > 0}
		},
		paced: 4*interval + interval/2,
	}
}

// scheduleOf translates the option's 0, never, into the schedule's.
func scheduleOf(a config.Announce) arp.ScheduleConfig {
	s := arp.ScheduleConfig{Burst: arp.Burst(a.Repeat, a.Delay), Refresh: a.Refresh, Repeat: a.RefreshRepeat}
	if s.Refresh == 0 {
		s.Refresh = -1
	}
	return s
}

const (
	// ticksPerInterval is how often in an interval many addresses advertise: each time of so many.
	ticksPerInterval = 8
	// crowdTicks is from how many addresses on they do.
	crowdTicks = 16
)

// ticking makes one of many Virtual Routers advertise together with others.
func ticking(router vrrp.Config, crowd int) vrrp.Config {
	if crowd >= crowdTicks {
		router.Tick = router.Interval / ticksPerInterval
	}
	return router
}

func (b *builder) elect(v config.VIP, p instance.Place, crowd, many int, pause time.Duration) (election.Elector, func(), error) {
	router, log := ticking(routerOf(v, p), crowd), b.log.With("vip", v.Name)
	wire, leave, err := b.vrrpSockets.join(p, virtualrouter.WireConfig{
		Version: router.Version, VRID: router.VRID, Addresses: router.Addresses,
		AnyAddresses: v.VRRP.AnyAddresses, Peers: v.VRRP.Peers, Form: formOf(v.VRRP.Checksum), Log: log,
	}, v.VRRP)
	if err != nil {
		return nil, nil, err
	}
	known, lines, quit, err := b.memberSockets.join(v, p, many, pause)
	if err != nil {
		log.Warn("the other members are not heard: plain VRRP alone", "error", err)
		known, lines, quit = nil, nil, func() {}
	}
	hearing, deafen := b.earSockets.at(p)
	giveBack := func() { deafen(); quit(); leave() }
	if len(v.Elsewhere) > 0 || v.HooksOnly {
		lines = nil // the leases of other interfaces do not end with a line on this one, and what hooks move has no lease
	}
	e, err := virtualrouter.New(virtualrouter.Config{
		Router: router, Bound: len(v.Addresses), Peers: v.VRRP.Peers, Members: known, GroupMember: b.groups.member(v),
		Ears: hearing, Lifeline: judged(lines, known != nil && known.Pulse != nil, hearing), NoCandidate: !b.host.seen.candidate(v),
	}, wire, log)
	if err != nil {
		giveBack()
		return nil, nil, err
	}
	return e, giveBack, nil
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

// virtualAddresses are all that the configuration names, without those that are external: nothing of these is on this host.
func virtualAddresses(c *config.Config) []netip.Addr {
	var out []netip.Addr
	for _, v := range c.VIPs {
		if v.External() {
			continue
		}
		for _, a := range v.Addresses {
			out = append(out, a.Addr())
		}
	}
	return out
}
