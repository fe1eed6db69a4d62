package daemon

import (
	"errors"
	"fmt"
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

// electLocally serves while this node is fit. Where an unhealthy node is to go on while no fit one is heard, and where the load is spread, the nodes
// tell each other how they are.
func (b *builder) electLocally(in *instance.Config, p instance.Place) (election.Elector, func(), error) {
	v := in.VIP
	if !v.LocalTalk() || b.memberSockets == nil || b.memberSockets.port == 0 {
		return local.New(p.Source, topPriority(v), nil, false), func() {}, nil
	}
	talk, giveBack, err := b.talk(v, p, len(in.Whole.VIPs), spreadEvery(in.Whole))
	if err != nil {
		return nil, nil, err
	}
	return local.New(p.Source, topPriority(v), talk, v.Check.WhenAllUnhealthy == config.Hold), giveBack, nil
}

// noLease is that of an election that is none: nobody waits for the end of a lease.
func noLease(config.VIP, *config.Config) (time.Duration, instance.Outages) {
	return time.Hour, instance.Outages{}
}

// routes is the host for all entries with a route: they share the device.
func (b *builder) routes() route.Host { return routeHost{b.host, b.host.routeDevice} }

// routeHost is the host as a route service sees it.
type routeHost struct {
	*host
	*hostroute.Device
}

var _ route.Host = routeHost{}

// OwnAddresses implements route.Host.
func (h routeHost) OwnAddresses() []netip.Addr { return h.seen.now().ownAddresses() }

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
	links := h.seen.now().own
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

// rememberTables keeps for later runs, and for `keepvip cleanup`, in which tables the routes will be. It may take as long as a disk does.
func (b *builder) rememberTables(stateDir string, vips []config.VIP) {
	for _, v := range vips {
		if !v.Routed() {
			continue
		}
		if err := route.Remember(stateDir, v); err != nil {
			b.log.Warn("the routing table is not kept in mind: a route that outlives this keepvip may stay there", "vip", v.Name, "table", v.Announce.Table, "error", err)
		}
	}
}

// removeRoutes takes away what an earlier run has left of addresses that this one does not serve by routes: what hangs on the loopback device,
// and what is translated.
func (b *builder) removeRoutes(whole *config.Config) error {
	var names []string
	keep := map[hostroute.Table][]netip.Addr{}
	known, unknown := route.Tables(whole.StateDir)
	for _, t := range known {
		keep[t] = nil
	}
	for _, v := range whole.VIPs {
		if !v.Routed() {
			continue
		}
		t := route.TableOf(v)
		keep[t] = append(keep[t], v.Bare()...)
		if v.Local() && len(v.SpreadPorts()) == 0 {
			names = append(names, v.Name)
		}
	}
	_, err := intercept.Cleanup(names...)
	return errors.Join(unknown, err, withRoutes(func(r *hostroute.Handle) error {
		var errs []error
		for t, addresses := range keep {
			gone, err := r.Cleanup(t, addresses...)
			if errs = append(errs, err); len(gone) > 0 {
				b.log.Info("routes of an earlier run removed", "addresses", gone, "table", t.Number)
			}
		}
		return errors.Join(errs...)
	}))
}
