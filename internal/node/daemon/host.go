package daemon

import (
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"slices"
	"sync"
	"time"

	"github.com/keepvip/keepvip/arp"
	"github.com/keepvip/keepvip/election"
	"github.com/keepvip/keepvip/internal/kernel/fence"
	"github.com/keepvip/keepvip/internal/kernel/hostroute"
	"github.com/keepvip/keepvip/internal/kernel/link"
	"github.com/keepvip/keepvip/internal/kernel/nfttables"
	"github.com/keepvip/keepvip/internal/serve/instance"
	"github.com/keepvip/keepvip/internal/serve/service/address"
)

// host is what this process does on this machine for its instances, by the kernel and by sockets, and what was last seen there.
type host struct {
	links *link.Handle
	log   *slog.Logger
	arp   *arpSockets
	binds binds

	bearers bearers
	watch   *nfttables.Watch // nil: nobody tells of changes

	routeDevice *hostroute.Device

	foreign overhearing
	seen    seen

	foreignLines sync.Mutex // guards lines
	lines        election.Lines
}

var _ address.Host = (*host)(nil)

func newHost(links *link.Handle, log *slog.Logger) *host {
	h := &host{links: links, log: log, arp: newARPSockets(log), routeDevice: hostroute.NewDevice()}
	h.bearers = bearers{links: links, seen: &h.seen, log: log}
	return h
}

// refresh lists the links anew, and tells whether anything is not as it was: an event may say what is known.
func (h *host) refresh() (changed bool, err error) {
	for {
		before, old := h.seen.last()
		links, err := h.links.Links()
		if err != nil {
			return false, err
		}
		if h.seen.keep(links, before) {
			h.arp.keep(func(index int) bool {
				return slices.ContainsFunc(links, func(l link.Link) bool { return l.Index == index })
			})
			return !slices.EqualFunc(old, links, sameLink), nil
		}
	}
}

// Bound implements address.Host.
func (h *host) Bound(addresses []netip.Prefix) []address.Binding {
	return h.seen.now().bound(addresses)
}

// Bind implements address.Host.
func (h *host) Bind(index int, addresses []netip.Prefix, valid time.Duration) error {
	if err := h.bearers.raise(index); err != nil {
		return err
	}
	err := h.binds.do(bind{index: index, addresses: addresses, valid: valid}, h.links.Add)
	h.seen.note(index, addresses, err == nil)
	if err != nil {
		return err
	}
	for _, p := range h.seen.now().brought(index, addresses) {
		if err := h.links.RouteSubnet(index, p, valid); err != nil {
			h.log.Warn("no route to the subnet of an address: hosts there get no answer", "address", p, "error", err)
		}
	}
	return nil
}

// Usable implements address.Host.
func (h *host) Usable(addresses []netip.Addr, limit time.Duration) {
	end := time.NewTimer(limit)
	defer end.Stop()
	look := time.NewTicker(time.Millisecond)
	defer look.Stop()
	for _, a := range addresses {
		for {
			if usable, err := h.links.HasLocalRoute(a); usable || err != nil {
				break
			}
			select {
			case <-end.C:
				return
			case <-look.C:
			}
		}
	}
}

// Connections implements address.Host.
func (h *host) Connections(addresses []netip.Addr) (int, error) {
	return link.CountTCP(addresses, h.seen.now().ownAddresses())
}

// Forward implements address.Host.
func (h *host) Forward(p instance.Place, addresses []netip.Addr, spread []fence.Port, to netip.Addr, first time.Duration) (address.Forwarding, error) {
	f := &fence.Forwarding{Index: p.Index, Heard: p.Bearer.Index, Addresses: addresses, To: to, Except: tcpPorts(spread)}
	return f, f.Begin(first)
}

// ForgetEnded implements address.Host.
func (h *host) ForgetEnded(addresses []netip.Addr) error {
	_, err := link.ForgetEnded(addresses...)
	return err
}

// Unbind implements address.Host.
func (h *host) Unbind(index int, addresses []netip.Prefix) error {
	foreign, name := h.seen.now().bindsOfOthers(index, addresses)
	err := h.links.Remove(index, addresses...)
	if err == nil && len(foreign) > 0 {
		h.tellRemoved(name, foreign)
	}
	if err != nil {
		return err
	}
	h.seen.note(index, addresses, false)
	h.bearers.lower(index)
	for _, p := range h.seen.now().leftBehind(index, addresses) {
		if err := h.links.UnrouteSubnet(index, p); err != nil {
			h.log.Warn("the route to the subnet of an address stays until its end", "address", p, "error", err)
		}
	}
	return nil
}

// tellRemoved says that an address is gone which another program or a configuration of the host had bound for good: whoever needs it there has to
// learn why it vanished.
func (h *host) tellRemoved(name string, foreign []netip.Prefix) {
	h.foreignLines.Lock()
	left, ok := h.lines.May(time.Now(), "foreign", election.MostLines)
	h.foreignLines.Unlock()
	if ok {
		h.log.Warn("a virtual address that another program had bound is removed: this node does not hold it", election.LeftOut([]any{
			"addresses", fmt.Sprint(foreign), "interface", name, "remedy", "take it out of the network configuration and of what else binds it on this host",
		}, left)...)
	}
}

// Own implements route.Host and spread.Host.
func (h *host) Own(p instance.Place, addresses []netip.Addr) []netip.Addr {
	return h.seen.now().own.toward(p, addresses)
}

// Announce implements address.Host.
func (h *host) Announce(p instance.Place, addresses []netip.Addr) error {
	return h.arp.say(p, func(c *arp.Conn) error { return c.Announce(addresses...) })
}

// Listen implements address.Host.
func (h *host) Listen(p instance.Place, addresses []netip.Addr, report func(address.Claim)) func() {
	return h.arp.listener(p).Watch(addresses, func(c arp.Claim) {
		if !h.seen.now().ownMAC(c.MAC) {
			report(claimOf(c))
		}
	})
}

// ListenChanges implements address.Host.
func (h *host) ListenChanges(p instance.Place, addresses []netip.Addr, report func(address.Claim) bool) func() {
	return h.arp.listener(p).WatchChanges(addresses, func(c arp.Claim) bool { return h.seen.now().ownMAC(c.MAC) || report(claimOf(c)) })
}

func claimOf(c arp.Claim) address.Claim {
	vrid, _ := c.VRID()
	return address.Claim{Address: c.Addr, MAC: c.MAC.String(), VRID: vrid, Answer: c.Answer}
}

// Probe implements address.Host.
func (h *host) Probe(p instance.Place, addresses []netip.Addr) error {
	return h.arp.say(p, func(c *arp.Conn) error { return c.Probe(addresses...) })
}

// removeStrays takes the addresses away that an earlier run has bound and that the configuration does not know.
func (h *host) removeStrays() error {
	var errs []error
	for _, b := range h.seen.now().strays() {
		h.log.Info("address of an earlier run removed", "address", b.Prefix.String(), "interface", b.Index)
		errs = append(errs, h.Unbind(b.Index, []netip.Prefix{b.Prefix}))
	}
	return errors.Join(errs...)
}
