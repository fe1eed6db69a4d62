package daemon

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"time"

	"github.com/keepvip/keepvip/election"
	"github.com/keepvip/keepvip/election/local"
	"github.com/keepvip/keepvip/internal/base/code"
	"github.com/keepvip/keepvip/internal/config"
	"github.com/keepvip/keepvip/internal/kernel/hostroute"
	"github.com/keepvip/keepvip/internal/kernel/intercept"
	"github.com/keepvip/keepvip/internal/kernel/link"
	"github.com/keepvip/keepvip/internal/serve/instance"
	"github.com/keepvip/keepvip/internal/serve/service/route"
)

// electLocally has an instance serve while this node is fit. Where an unhealthy node is to go on while no fit one is heard, and where the load is
// spread, the nodes tell each other how they are.
func (b *builder) electLocally(in *instance.Config, v config.VIP, whole *config.Config) kernelLease {
	in.Place = func() (instance.Place, error) { return b.host.routed(v) }
	in.Elect = func(p instance.Place) (election.Elector, func(), error) {
		cfg := local.Config{Source: p.Source, Priority: topPriority(v), Stay: v.Check.WhenAllUnhealthy == config.Hold}
		if !v.LocalTalk() || b.memberSockets == nil || b.memberSockets.port == 0 {
			cfg.Stay = false
			return local.New(cfg), func() {}, nil
		}
		talk, giveBack, err := b.talk(v, p, len(whole.VIPs), spreadEvery(whole))
		if err != nil {
			return nil, nil, err
		}
		cfg.Talk = talk
		return local.New(cfg), giveBack, nil
	}
	// Nobody waits for the end of a lease. An unhealthy node is out by itself, or stays: the elector knows.
	in.Local, in.Lease, in.ReleaseWhenUnhealthy = true, time.Hour, false
	return kernelLease{}
}

// serveByRoute has an instance serve its addresses by a route, and nothing else.
func (b *builder) serveByRoute(in *instance.Config, v config.VIP) {
	cfg := b.routeConfig(v)
	if len(v.SpreadPorts()) > 0 {
		b.spreadByRoutes(in, v, cfg)
		return
	}
	for _, p := range v.RoutedPorts() {
		cfg.Ports = append(cfg.Ports, route.Port{Protocol: protocolOf(p.Protocol), Port: p.Port, Target: p.Target})
	}
	log := b.log.With("vip", v.Name)
	in.Serve = func(func(instance.Blocked)) instance.Service { return route.New(cfg, b.routes(), log) }
}

// joinRoute has the holder of an elected address announce a route to it, too.
func (b *builder) joinRoute(in *instance.Config, v config.VIP) {
	cfg, log := b.routeConfig(v), b.log.With("vip", v.Name)
	serve, reconfigure := in.Serve, in.Reconfigure
	in.Serve = func(blocked func(instance.Blocked)) instance.Service {
		return &announced{Service: serve(blocked), route: route.New(cfg, b.routes(), log), log: log}
	}
	in.Reconfigure = func(s instance.Service) {
		if a, ok := s.(*announced); ok {
			reconfigure(a.Service)
		}
	}
}

func (b *builder) routeConfig(v config.VIP) route.Config {
	cfg := route.Config{Name: v.Name, Table: tableOf(v)}
	for _, a := range v.Addresses {
		cfg.Addresses = append(cfg.Addresses, a.Addr())
	}
	return cfg
}

func tableOf(v config.VIP) hostroute.Table {
	return hostroute.Table{Number: v.Announce.Table, Protocol: int(v.Announce.Protocol)}
}

// routes is the host for all entries with a route: they share the device.
func (b *builder) routes() route.Host { return routeHost{b.host, b.host.routeDevice} }

// routeHost is the host as a route service sees it.
type routeHost struct {
	*host
	*hostroute.Device
}

var _ route.Host = routeHost{}

// Own implements route.Host.
func (h routeHost) Own(p instance.Place, addresses []netip.Addr) []netip.Addr {
	return h.seen.toward(p, addresses)
}

// OpenTranslation implements route.Host.
func (h routeHost) OpenTranslation(name string) (route.Translation, error) {
	return intercept.Open(name, h.watch)
}

// OpenRoutes implements route.Host.
func (routeHost) OpenRoutes() (route.Routes, error) { return hostroute.Open() }

func withRoutes(do func(*hostroute.Handle) error) error {
	r, err := hostroute.Open()
	if err != nil {
		return err
	}
	defer r.Close()
	return do(r)
}

// routed is the place of an address that routers send here: the interface whose subnet has it, or else the one of the default route.
func (h *host) routed(v config.VIP) (instance.Place, error) {
	first := v.First()
	h.seen.mu.Lock()
	links := h.seen.own
	h.seen.mu.Unlock()
	l, err := link.Choose(links, first, v.Interface)
	if errors.Is(err, link.ErrNoSubnet) {
		l, err = h.towardRouter(links, first)
	}
	switch {
	case err != nil:
		return instance.Place{}, code.With(code.InterfaceMissing, err)
	case !l.Up:
		return instance.Place{}, code.With(code.LinkDown, fmt.Errorf("%s is down", l.Name))
	}
	source, ok := link.SourceToward(l, first)
	if !ok {
		return instance.Place{}, code.With(code.NoOwnAddress, fmt.Errorf("%s has no %s of its own yet", l.Name, familyWord(first)))
	}
	return instance.Place{Index: l.Index, Name: l.Name, Source: source.WithZone(""), MAC: l.MAC.String(), Stay: l.Carriers}, nil
}

// towardRouter is the link that the default route of a family leaves by.
func (h *host) towardRouter(links []link.Link, like netip.Addr) (link.Link, error) {
	for _, l := range links {
		if l.Loopback || !l.Up {
			continue
		}
		if routers, err := h.links.DefaultRouters(l.Index, like.Is6()); err == nil && len(routers) > 0 {
			return l, nil
		}
	}
	return link.Link{}, fmt.Errorf("no interface has a subnet that contains %s, nor the default route of its family; name the interface with the node's own address", like)
}

// removeRoutes takes away what an earlier run has left of addresses that this one does not serve by routes: what hangs on the loopback device,
// and what is translated.
func (b *builder) removeRoutes(vips []config.VIP) error {
	var keep []netip.Addr
	var names []string
	tables := map[hostroute.Table]bool{{Number: config.DefaultTable, Protocol: config.DefaultProtocol}: true}
	for _, v := range vips {
		if !v.Routed() {
			continue
		}
		tables[tableOf(v)] = true
		for _, a := range v.Addresses {
			keep = append(keep, a.Addr())
		}
		if v.Local() && len(v.SpreadPorts()) == 0 {
			names = append(names, v.Name)
		}
	}
	_, err := intercept.Cleanup(names...)
	return errors.Join(err, withRoutes(func(r *hostroute.Handle) error {
		var errs []error
		for t := range tables {
			gone, err := r.Cleanup(t, keep...)
			if errs = append(errs, err); len(gone) > 0 {
				b.log.Info("routes of an earlier run removed", "addresses", gone, "table", t.Number)
			}
		}
		return errors.Join(errs...)
	}))
}

// announced is the service of an elected address, and beside it a route to the address: it is there after the address, and gone before it.
type announced struct {
	instance.Service
	route *route.Service
	log   *slog.Logger
}

var (
	_ instance.Service   = (*announced)(nil)
	_ instance.Announcer = (*announced)(nil)
	_ instance.Drainer   = (*announced)(nil)
	_ instance.Judged    = (*announced)(nil)
)

// Begin implements instance.Service.
func (a *announced) Begin(t instance.Term) {
	a.Service.Begin(t)
	a.route.Begin(t)
}

// Apply implements instance.Service. A route that the kernel refuses leaves the address on the link.
func (a *announced) Apply(ctx context.Context, d election.Decision) error {
	if d.Role != election.Serve {
		a.warn(a.route.Apply(ctx, d))
		return a.Service.Apply(ctx, d)
	}
	if err := a.Service.Apply(ctx, d); err != nil {
		return err
	}
	a.warn(a.route.Apply(ctx, d))
	return nil
}

func (a *announced) warn(err error) {
	if err != nil {
		a.log.Warn("the route to the address is not as it should be", "error", err)
	}
}

// HostChanged implements instance.Service.
func (a *announced) HostChanged(p instance.Place) {
	a.Service.HostChanged(p)
	a.route.HostChanged(p)
}

// Judged implements instance.Judged.
func (a *announced) Judged() {
	if j, ok := a.Service.(instance.Judged); ok {
		j.Judged()
	}
}

// End implements instance.Service.
func (a *announced) End() {
	a.Service.End()
	a.route.End()
}

// Status implements instance.Service.
func (a *announced) Status() instance.ServiceStatus {
	out, by := a.Service.Status(), a.route.Status()
	out.Restored += by.Restored
	out.Routes = by.Routes
	if out.Fence.Standing && !by.Fence.Standing && out.Fence.Uncovered == "" {
		out.Fence.Uncovered, out.Fence.Code = by.Fence.Reason, by.Fence.Code
	}
	return out
}

// Announce implements instance.Announcer.
func (a *announced) Announce() error {
	s, ok := a.Service.(instance.Announcer)
	if !ok {
		return instance.ErrNotHeld
	}
	if err := s.Announce(); err != nil {
		return err
	}
	return a.route.Announce()
}

// Drain implements instance.Drainer.
func (a *announced) Drain(until time.Time) {
	if d, ok := a.Service.(instance.Drainer); ok {
		d.Drain(until)
	}
}

// Draining implements instance.Drainer.
func (a *announced) Draining() (busy bool, reset int) {
	if d, ok := a.Service.(instance.Drainer); ok {
		return d.Draining()
	}
	return false, 0
}

// Close implements instance.Service.
func (a *announced) Close() error { return errors.Join(a.route.Close(), a.Service.Close()) }
