package daemon

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"slices"
	"sync"
	"time"

	"github.com/keepvip/keepvip/arp"
	"github.com/keepvip/keepvip/internal/code"
	"github.com/keepvip/keepvip/internal/fence"
	"github.com/keepvip/keepvip/internal/instance"
	"github.com/keepvip/keepvip/internal/link"
	"github.com/keepvip/keepvip/internal/service/address"
)

// host is the instances' view of this machine: a snapshot of its links that is kept up to date, and the
// sockets that announce.
type host struct {
	links *link.Handle
	log   *slog.Logger
	arp   *arpSockets
	binds binds

	foreign overhearing

	mu         sync.Mutex // guards what follows
	snapshot   []link.Link
	own        []link.Link // the snapshot without virtual addresses, whose number must not make place slow
	generation uint64      // counts changes of our own, so that a listing begun before one is not believed
	virtual    []netip.Addr
}

var _ address.Host = (*host)(nil)

// where is what decides the place of an instance.
type where struct {
	addresses []netip.Prefix // the first one decides
	link      string         // the name of an interface; empty: the one whose subnet holds the first address
	peers     []netip.Addr   // unicast: the nodes' own addresses, this node's usually among them
	source    netip.Addr     // the own address; zero: the one that suits
}

func newHost(links *link.Handle, log *slog.Logger) *host {
	return &host{links: links, log: log, arp: newARPSockets(log)}
}

// refresh lists the links anew, and tells whether anything is not as it was: the renewal of an address's lifetime is an
// event too, and with many addresses a frequent one.
func (h *host) refresh() (changed bool, err error) {
	for {
		before, old := h.last()
		links, err := h.links.Links()
		if err != nil {
			return false, err
		}
		if h.keep(links, before) {
			h.arp.keep(func(index int) bool {
				return slices.ContainsFunc(links, func(l link.Link) bool { return l.Index == index })
			})
			return !slices.EqualFunc(old, links, sameLink), nil
		}
	}
}

func sameLink(a, b link.Link) bool {
	return a.Index == b.Index && a.Name == b.Name && a.Up == b.Up && a.Master == b.Master &&
		a.Carriers == b.Carriers && slices.Equal(a.MAC, b.MAC) && slices.EqualFunc(a.Addresses, b.Addresses, sameAddress)
}

// sameAddress leaves out what is left of the lifetime, and of our own addresses what only the kernel knows.
func sameAddress(a, b link.Address) bool {
	if a.Ours && b.Ours {
		return a.Prefix == b.Prefix
	}
	a.Valid, b.Valid = 0, 0
	return a == b
}

func (h *host) last() (uint64, []link.Link) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.generation, slices.Clone(h.snapshot)
}

func (h *host) keep(links []link.Link, generation uint64) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.generation != generation {
		return false
	}
	h.snapshot, h.own = links, ownOf(links, h.virtual)
	return true
}

// setVirtual tells which addresses are virtual: none of them is ever an own address of the node.
func (h *host) setVirtual(addrs []netip.Addr) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.virtual = addrs
	h.own = ownOf(h.snapshot, addrs)
}

// has tells whether an address is on this node, as far as was seen; any goroutine.
func (h *host) has(addr netip.Addr) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.ContainsFunc(h.snapshot, func(l link.Link) bool {
		return slices.ContainsFunc(l.Addresses, func(a link.Address) bool { return a.Prefix.Addr() == addr.WithZone("") })
	})
}

// isVirtual tells whether the configuration in force has an address as a virtual one; any goroutine.
func (h *host) isVirtual(a netip.Addr) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Contains(h.virtual, a)
}

func ownOf(links []link.Link, virtual []netip.Addr) []link.Link {
	drop := map[netip.Addr]bool{}
	for _, a := range virtual {
		drop[a] = true
	}
	out := slices.Clone(links)
	for i := range out {
		out[i].Addresses = slices.DeleteFunc(slices.Clone(out[i].Addresses), func(a link.Address) bool { return drop[a.Prefix.Addr()] })
	}
	return out
}

// place finds the interface and the own address there. The error says what is missing.
func (h *host) place(w where) (instance.Place, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	first := w.addresses[0].Addr()
	l, err := link.Choose(h.own, first, w.link)
	if err != nil {
		// The address of the node itself is none of its own by the name of a virtual one.
		return instance.Place{}, code.With(code.InterfaceMissing, cmp.Or(link.NotOwn(h.snapshot, first, h.virtual), err))
	}
	if err := link.Suitable(l, w.addresses...); err != nil {
		return instance.Place{}, err
	}
	if !l.Up {
		return instance.Place{}, code.With(code.LinkDown, fmt.Errorf("%s is down", l.Name))
	}
	source, ok := h.source(l, first, w)
	if !ok && w.source.IsValid() {
		return instance.Place{}, code.With(code.NoOwnAddress, fmt.Errorf("%s does not have %s yet, which vrrp.source wants", l.Name, w.source))
	}
	if !ok {
		return instance.Place{}, code.With(code.NoOwnAddress, fmt.Errorf("%s has no %s of its own yet", l.Name, familyWord(first)))
	}
	return instance.Place{Index: l.Index, Name: l.Name, Source: source, MAC: l.MAC.String(), Stay: l.Carriers}, nil
}

// source is the own address: the one that is asked for, or with a list of peers the one of them that is on the link.
func (h *host) source(l link.Link, like netip.Addr, w where) (netip.Addr, bool) {
	wanted := w.peers
	if w.source.IsValid() {
		wanted = []netip.Addr{w.source}
	}
	for _, a := range l.Addresses {
		if slices.Contains(wanted, a.Prefix.Addr()) && !a.Tentative {
			return a.Prefix.Addr(), true
		}
	}
	if w.source.IsValid() {
		return netip.Addr{}, false
	}
	if len(w.peers) > 0 {
		return link.SourceToward(l, w.peers[0])
	}
	return link.Source(l, like)
}

func familyWord(a netip.Addr) string {
	if a.Is4() {
		return "IPv4 address"
	}
	return "IPv6 address"
}

// Bound implements address.Host.
func (h *host) Bound(addresses []netip.Prefix) []address.Binding {
	wanted := make(map[netip.Addr]bool, len(addresses))
	for _, p := range addresses {
		wanted[p.Addr()] = true
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	var out []address.Binding
	for _, l := range h.snapshot {
		for _, a := range l.Addresses {
			if wanted[a.Prefix.Addr()] {
				out = append(out, address.Binding{Index: l.Index, Prefix: a.Prefix})
			}
		}
	}
	return out
}

// Bind implements address.Host.
func (h *host) Bind(index int, addresses []netip.Prefix, valid time.Duration) error {
	err := h.binds.do(bind{index: index, addresses: addresses, valid: valid}, h.links.Add)
	h.note(index, addresses, err == nil)
	return err
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
	return link.CountTCP(addresses, h.ownAddresses())
}

func (h *host) ownAddresses() []netip.Addr {
	h.mu.Lock()
	defer h.mu.Unlock()
	var out []netip.Addr
	for _, l := range h.snapshot {
		for _, a := range l.Addresses {
			out = append(out, a.Prefix.Addr())
		}
	}
	return out
}

// Forward implements address.Host.
func (h *host) Forward(p instance.Place, addresses []netip.Addr, spread []address.Port, to netip.Addr, first time.Duration) (address.Forwarding, error) {
	return fence.OpenForwarding(fence.ForwardConfig{Index: p.Index, Addresses: addresses, To: to, Except: tcpPorts(spread)}, first)
}

// Unbind implements address.Host.
func (h *host) Unbind(index int, addresses []netip.Prefix) error {
	err := h.links.Remove(index, addresses...)
	if err == nil {
		h.note(index, addresses, false)
	}
	return err
}

// note keeps the snapshot true to what this process has just done.
func (h *host) note(index int, addresses []netip.Prefix, bound bool) {
	touched := make(map[netip.Prefix]bool, len(addresses))
	for _, p := range addresses {
		touched[p] = true
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	i := slices.IndexFunc(h.snapshot, func(l link.Link) bool { return l.Index == index })
	if bound && i >= 0 && haveAll(h.snapshot[i], touched) {
		return // a renewal
	}
	h.generation++
	if i < 0 {
		return
	}
	l := &h.snapshot[i]
	l.Addresses = slices.DeleteFunc(slices.Clone(l.Addresses), func(a link.Address) bool { return touched[a.Prefix] })
	if !bound {
		return
	}
	for _, p := range addresses {
		l.Addresses = append(l.Addresses, link.Address{Prefix: p, Ours: true})
	}
}

// haveAll tells whether all of these addresses are on l as ours.
func haveAll(l link.Link, prefixes map[netip.Prefix]bool) bool {
	n := 0
	for _, a := range l.Addresses {
		if a.Ours && prefixes[a.Prefix] {
			n++
		}
	}
	return n == len(prefixes)
}

// Announce implements address.Host.
func (h *host) Announce(p instance.Place, addresses []netip.Addr) error {
	return h.arp.say(p, func(c *arp.Conn) error { return c.Announce(addresses...) })
}

// Listen implements address.Host.
func (h *host) Listen(p instance.Place, addresses []netip.Addr, report func(address.Claim)) func() {
	return h.arp.listener(p).Watch(addresses, func(c arp.Claim) {
		if h.ownMAC(c.MAC) {
			return
		}
		vrid, _ := c.VRID()
		report(address.Claim{Address: c.Addr, MAC: c.MAC.String(), VRID: vrid})
	})
}

func (h *host) ownMAC(mac net.HardwareAddr) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.ContainsFunc(h.snapshot, func(l link.Link) bool { return slices.Equal(l.MAC, mac) })
}

// Probe implements address.Host.
func (h *host) Probe(p instance.Place, addresses []netip.Addr) error {
	return h.arp.say(p, func(c *arp.Conn) error { return c.Probe(addresses...) })
}

// strays lists addresses that an earlier run has bound and that the configuration does not know.
func (h *host) strays() []address.Binding {
	h.mu.Lock()
	defer h.mu.Unlock()
	var out []address.Binding
	for _, l := range h.snapshot {
		for _, a := range l.Addresses {
			if a.Ours && !slices.Contains(h.virtual, a.Prefix.Addr()) {
				out = append(out, address.Binding{Index: l.Index, Prefix: a.Prefix})
			}
		}
	}
	return out
}

// leftovers lists the virtual addresses on a link, as last seen.
func (h *host) leftovers(index int) []netip.Addr {
	h.mu.Lock()
	defer h.mu.Unlock()
	var out []netip.Addr
	for _, l := range h.snapshot {
		for _, a := range l.Addresses {
			if l.Index == index && slices.Contains(h.virtual, a.Prefix.Addr()) {
				out = append(out, a.Prefix.Addr())
			}
		}
	}
	return out
}

// removeStrays takes such addresses away.
func (h *host) removeStrays() error {
	var errs []error
	for _, b := range h.strays() {
		h.log.Info("address of an earlier run removed", "address", b.Prefix.String(), "interface", b.Index)
		errs = append(errs, h.Unbind(b.Index, []netip.Prefix{b.Prefix}))
	}
	return errors.Join(errs...)
}
