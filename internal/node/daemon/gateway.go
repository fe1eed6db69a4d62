package daemon

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"slices"
	"time"

	"github.com/keepvip/keepvip/arp"
	"github.com/keepvip/keepvip/internal/check/health"
	"github.com/keepvip/keepvip/internal/config"
	"github.com/keepvip/keepvip/internal/kernel/link"
)

// neighbours makes what asks a router whether it is there, from where the virtual address belongs. The zero Addr is the next hop
// of the default route.
type neighbours func(v config.VIP, router netip.Addr) health.Neighbour

// routeAge is how long the next hop of the default route is believed: listing the routes of a node may be dear.
const routeAge = 5 * time.Second

// gateway is a router as seen from where an address belongs.
type gateway struct {
	host  *host
	where where
	named netip.Addr // zero: that of the default route

	asker  *arp.Asker // nil: none is open
	view   view       // of asker
	router netip.Addr // of the default route
	index  int        // of the interface that router was looked for on
	sought time.Time
}

// view is who asks whom, and where.
type view struct {
	index    int
	name     string
	from, to netip.Addr
}

var _ health.Neighbour = (*gateway)(nil)

func (h *host) neighbours(v config.VIP, router netip.Addr) health.Neighbour {
	return &gateway{host: h, where: whereOf(v), named: router}
}

// Ask implements health.Neighbour.
func (g *gateway) Ask(ctx context.Context) (string, error) {
	if err := g.look(); err != nil {
		_ = g.Close() // of a place that is no more
		return "", err
	}
	mac, err := g.asker.Ask(ctx)
	switch {
	case errors.Is(err, arp.ErrSilent):
		g.sought = time.Time{} // there may be another by now
		return "", fmt.Errorf("%s on %s: %w", g.view.to, g.view.name, health.ErrNoAnswer)
	case err != nil:
		_ = g.Close() // no use any more
		return "", err
	}
	return fmt.Sprintf("%s is at %s on %s", g.view.to, mac, g.view.name), nil
}

// Close implements health.Neighbour.
func (g *gateway) Close() error {
	if g.asker == nil {
		return nil
	}
	err := g.asker.Close()
	g.asker = nil
	return err
}

// look makes sure that the asker is the right one: interface, own address and router may all have changed.
func (g *gateway) look() error {
	l, err := g.host.seen.now().own.linkOf(g.where)
	if err != nil {
		return err
	}
	to, err := g.next(l)
	if err != nil {
		return err
	}
	from, ok := link.SourceToward(l, to)
	if !ok {
		return fmt.Errorf("%s has no %s of its own yet", l.Name, familyWord(to))
	}
	now := view{l.Index, l.Name, from, to}
	if g.asker != nil && now == g.view {
		return nil
	}
	_ = g.Close() // of another place
	g.view = now
	g.asker, err = arp.OpenAsker(&net.Interface{Index: l.Index, Name: l.Name}, from, to)
	return err
}

// next is the router to ask on the link.
func (g *gateway) next(l link.Link) (netip.Addr, error) {
	if g.named.IsValid() {
		return g.named, nil
	}
	now := time.Now()
	if g.router.IsValid() && g.index == l.Index && now.Sub(g.sought) < routeAge {
		return g.router, nil
	}
	first := g.where.addresses[0].Addr()
	all, err := g.host.links.DefaultRouters(l.Index, first.Is6())
	switch {
	case err != nil:
		return netip.Addr{}, err
	case len(all) == 0:
		return netip.Addr{}, fmt.Errorf("no default route of %s leaves by %s: name the router", map[bool]string{true: "IPv4", false: "IPv6"}[first.Is4()], l.Name)
	}
	g.router, g.index, g.sought = all[0], l.Index, now
	return g.router, nil
}

// surroundings is this node's network as `keepvip check` sees it, beside a daemon that may run. Without a check that asks a
// neighbour, and where every node serves, it looks at nothing.
func surroundings(cfg *config.Config) (here *host, near neighbours, done func(), err error) {
	if !asksNeighbours(cfg) && !namesSenders(cfg) {
		return nil, nil, func() {}, nil
	}
	log := slog.New(slog.DiscardHandler)
	links, err := link.Open(log)
	if err != nil {
		return nil, nil, nil, err
	}
	h := newHost(links, log)
	h.seen.setVirtual(virtualAddresses(cfg))
	if _, err := h.refresh(); err != nil {
		_ = links.Close() // nothing was changed
		return nil, nil, nil, err
	}
	return h, func(v config.VIP, router netip.Addr) health.Neighbour {
		return refreshing{h.neighbours(v, router), h}
	}, func() { _ = links.Close() }, nil
}

func asksNeighbours(cfg *config.Config) bool {
	return slices.ContainsFunc(cfg.VIPs, func(v config.VIP) bool {
		return slices.ContainsFunc(v.Checks, func(c config.ListedCheck) bool { return c.Kind == config.CheckGateway })
	})
}

// refreshing looks at the host anew before each question, where nobody follows its changes.
type refreshing struct {
	health.Neighbour
	host *host
}

// Ask implements health.Neighbour.
func (r refreshing) Ask(ctx context.Context) (string, error) {
	if _, err := r.host.refresh(); err != nil {
		return "", err
	}
	return r.Neighbour.Ask(ctx)
}
