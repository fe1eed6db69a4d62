package gather

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"slices"
	"sync"
	"time"

	"github.com/keepvip/keepvip/internal/kernel/link"
	"github.com/keepvip/keepvip/internal/tools/doctor"
	"github.com/keepvip/keepvip/members"
	"github.com/keepvip/keepvip/vrrp"
)

// listen hears what is said at p for as long as the options say, on the link and, by sockets as keepvip's, behind the firewall of this host.
// taken tells that another program than keepvip has the members' port.
func listen(ctx context.Context, p place, o Options, running bool) (w doctor.Wire, taken bool) {
	ctx, cancel := context.WithTimeout(ctx, o.Listen)
	defer cancel()
	n := &notes{wire: doctor.Wire{Interface: p.link.Name, IPv4: p.ipv4}, mac: p.link.MAC.String()}
	n.wire.Digests = map[string]uint32{}
	for _, v := range p.vips {
		n.wire.Digests[v.Name] = members.DigestOf(v.Advertised(p.ipv4))
	}
	ifi := net.Interface{Index: p.link.Index, Name: p.link.Name}
	var wg sync.WaitGroup
	groups := p.groups()
	wg.Go(func() { sniff(ctx, ifi, o.Config.Port, groups, n) })
	wg.Go(func() { askWho(ctx, ifi, p, n) })
	source, peers := p.source()
	if source.IsValid() {
		for _, group := range groups {
			n.wire.HeardVRRP = hearVRRP(ctx, &wg, ifi, source, group, n) || n.wire.HeardVRRP
		}
		if o.Config.Port != 0 {
			n.wire.HeardMembers = hearMembers(ctx, &wg, ifi, p.ipv4, o.Config.Port, n)
			taken = !running && portTaken(ifi, source, len(peers) > 0, o.Config.Port)
		}
		if len(peers) == 0 {
			n.wire.OutVRRP, n.wire.OutMembers = tryToSend(ifi, p.ipv4, o.Config.Port)
		}
	}
	wg.Wait()
	return n.facts(), taken
}

// source is the own address of the election, and the peers of all entries.
func (p place) source() (own netip.Addr, peers []netip.Addr) {
	for _, v := range p.vips {
		peers = append(peers, v.VRRP.Peers...)
	}
	own, _ = link.Source(p.link, p.vips[0].First())
	if chosen := p.vips[0].VRRP.Source; chosen.IsValid() {
		own = chosen
	}
	for _, a := range p.link.Addresses {
		if slices.Contains(peers, a.Prefix.Addr()) {
			own = a.Prefix.Addr()
		}
	}
	return own, peers
}

// groups are those of the RFC, whose packets are seen on the link whatever is configured, and of the entries that have others.
func (p place) groups() []netip.Addr {
	out := []netip.Addr{vrrp.MulticastGroup(p.ipv4)}
	for _, v := range p.vips {
		if g := v.VRRP.MulticastGroup; g.IsValid() && !slices.Contains(out, g) {
			out = append(out, g)
		}
	}
	return out
}

// hearVRRP notes the advertisements to a group, or to this host, that reach a socket, until ctx ends. It takes those of any sender, also where
// there are peers: what a keepvip would not look at is not what a firewall drops.
func hearVRRP(ctx context.Context, wg *sync.WaitGroup, ifi net.Interface, source, group netip.Addr, n *notes) bool {
	c := vrrp.ConnConfig{Interface: ifi, Source: source}
	if group != vrrp.MulticastGroup(source.Is4()) {
		c.Group = group
	}
	conn, err := vrrp.Open(c)
	if err != nil {
		return false
	}
	context.AfterFunc(ctx, func() { _ = conn.Close() })
	wg.Go(func() {
		for !errors.Is(conn.Wait(), net.ErrClosed) && ctx.Err() == nil {
			_ = conn.Drain(func(d vrrp.Datagram) {
				if len(d.Payload) > 1 {
					n.reached(d.Source, d.Payload[1])
				}
			})
		}
	})
	return true
}

// readPause keeps a socket that fails at once, again and again, from taking the processor.
const readPause = 20 * time.Millisecond

// notes are what several sockets hear of one wire.
type notes struct {
	mac string // of the interface

	mu      sync.Mutex // guards what follows
	wire    doctor.Wire
	arrived []vrrpFrom
	spoke   []netip.Addr
}

type vrrpFrom struct {
	source netip.Addr
	vrid   uint8
}

// most bounds what hosts on the link can make the doctor remember of each kind.
const most = 256

func (n *notes) reached(source netip.Addr, vrid uint8) {
	once(n, &n.arrived, vrrpFrom{source.WithZone(""), vrid})
}

func (n *notes) spoken(source netip.Addr) { once(n, &n.spoke, source.WithZone("")) }

func (n *notes) claim(c doctor.Claim) { once(n, &n.wire.Claims, c) }

// once keeps each value one time.
func once[T comparable](n *notes, list *[]T, v T) {
	newest(n, list, v, func(o T) bool { return o == v })
}

// advert keeps the newest of each sender and virtual router.
func (n *notes) advert(a doctor.Advert) {
	newest(n, &n.wire.Adverts, a, func(o doctor.Advert) bool { return o.Source == a.Source && o.VRID == a.VRID })
}

// hello keeps the newest of each sender and group.
func (n *notes) hello(h doctor.Hello) {
	newest(n, &n.wire.Hellos, h, func(o doctor.Hello) bool { return o.Source == h.Source && o.Group == h.Group })
}

// newest keeps a value in the place of the one that is of the same kind.
func newest[T any](n *notes, list *[]T, v T, same func(T) bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	switch i := slices.IndexFunc(*list, same); {
	case i >= 0:
		(*list)[i] = v
	case len(*list) < most:
		*list = append(*list, v)
	}
}

// facts puts together what was seen on the link and what has reached a socket.
func (n *notes) facts() doctor.Wire {
	n.mu.Lock()
	defer n.mu.Unlock()
	for i, a := range n.wire.Adverts {
		n.wire.Adverts[i].Arrived = slices.Contains(n.arrived, vrrpFrom{a.Source, a.VRID})
	}
	for i, h := range n.wire.Hellos {
		n.wire.Hellos[i].Arrived = slices.Contains(n.spoke, h.Source)
	}
	return n.wire
}

func (n *notes) own(mac net.HardwareAddr, outgoing bool) bool {
	return outgoing || mac.String() == n.mac
}
