package gather

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"slices"
	"sync"
	"time"

	"github.com/keepvip/keepvip/internal/base/regular"
	"github.com/keepvip/keepvip/internal/config"
	"github.com/keepvip/keepvip/internal/kernel/fence"
	"github.com/keepvip/keepvip/internal/kernel/link"
	"github.com/keepvip/keepvip/internal/node/replies"
	"github.com/keepvip/keepvip/internal/tools/doctor"
	"github.com/keepvip/keepvip/members"
)

// Options say what to look at.
type Options struct {
	Config  *config.Config
	Listen  time.Duration // for how long to listen on the wire
	Echoes  time.Duration // for how long to send echo requests to the members after that; 0: not at all
	Peers   []netip.Addr  // hosts on which a doctor runs at the same time, this one among them or not
	Kubeadm string        // a file with kubeadm's configuration; "": none
	Root    string        // before the paths of files; "" but in tests
}

// mostText is how many bytes of a file are read.
const mostText = 1 << 20

// quick bounds each question that is answered at once or not at all.
const quick = time.Second

// Gather takes about Listen and Echoes, at most two seconds more. The error says why nothing can be told.
func Gather(ctx context.Context, o Options) (doctor.Facts, error) {
	all, internal := o, *o.Config
	internal.VIPs = o.Config.Internal()
	o.Config = &internal
	f := doctor.Facts{VIPs: o.Config.VIPs, MTU: map[string]int{}, MembersOff: o.Config.Port == 0}
	var err error
	if o.Kubeadm != "" {
		if _, err := regular.Read(o.Kubeadm, mostText); err != nil {
			return f, fmt.Errorf("kubeadm's configuration %s: %w", o.Kubeadm, err)
		}
	}
	if f.Key, err = keyOf(o.Config); err != nil {
		return f, err
	}
	handle, err := link.Open(slog.New(slog.DiscardHandler))
	if err != nil {
		return f, err
	}
	defer handle.Close()
	if f.Links, err = handle.Links(); err != nil {
		return f, err
	}
	for _, l := range f.Links {
		if ifi, err := net.InterfaceByIndex(l.Index); err == nil {
			f.MTU[l.Name] = ifi.MTU
		}
		if !speaksIPv4(l) {
			continue
		}
		if via, err := handle.DefaultRouters(l.Index, false); err == nil && len(via) > 0 {
			f.Default4 = append(f.Default4, l.Name)
		}
	}
	f.Replies = lostReplies(o.Config, f.Links, replies.New(handle))
	f.Missing = missingCapabilities()
	running := askDaemon(ctx, o.Config)
	places := placesOf(o.Config, f.Links)
	f.Wires = make([]doctor.Wire, len(places))
	meets := peersOf(places, f.Links, o.Peers)
	var wg sync.WaitGroup
	wg.Go(func() { f.Sysctls, f.NoIPv6 = sysctls(o.Root, f.Links) })
	if spreads(o.Config) {
		wg.Go(func() { f.NoModules, f.LargeReceive = missingModules(o.Root), largeReceive(places) })
		wg.Go(func() { f.ForwardDrops = forwardDrops() })
	}
	wg.Go(func() { f.Machine = machine(o.Root) })
	wg.Go(func() { f.Certificates, f.NotServing = certificates(ctx, o.Config, readCertificate) })
	wg.Go(func() { f.External = externals(ctx, all, f.Links, resolve) })
	wg.Go(func() { f.Names = checkNames(ctx, o.Config, resolve) })
	wg.Go(func() { f.Endpoints = endpoints(ctx, o) })
	wg.Go(func() { f.Kubelet = kubelet(ctx, o.Root, resolve, readCertificate) })
	wg.Go(func() { f.Files, f.Subnets = certificateFiles(o.Root, o.Config, time.Now()), clusterSubnets(o.Root) })
	wg.Go(func() { f.Routing = routingDaemons(ctx, o) })
	wg.Go(func() { f.Connections = connections(ctx, o.Config, f.Links) })
	wg.Go(func() { f.Lateness = lateness(ctx, o.Listen, o.Config.Realtime) })
	var mu sync.Mutex // guards PortTaken and Peers
	for i, p := range places {
		wg.Go(func() {
			met := meet(ctx, p, o, meets[i])
			mu.Lock()
			defer mu.Unlock()
			f.Peers = append(f.Peers, met...)
		})
		wg.Go(func() {
			var taken bool
			f.Wires[i], taken = listen(ctx, p, o, running != nil)
			mu.Lock()
			defer mu.Unlock()
			f.PortTaken = f.PortTaken || taken
		})
	}
	if running == nil && len(f.Missing) == 0 && len(places) > 0 {
		f.Nftables = &doctor.Nftables{}
		f.Nftables.Netdev, f.Nftables.Egress = fence.Try(places[0].link.Index)
	}
	wg.Wait()
	if o.Echoes > 0 {
		f.Echoes = echoes(ctx, places, f.Wires, o.Echoes, o.Config.Realtime)
	}
	if running != nil {
		running = askDaemon(ctx, o.Config) // it has listened for as long
	}
	f.Daemon, f.Announced = running.facts(), running.announced()
	f.Unreached = unreached(running)
	f.Uncovered = uncovered(running, o.Config, link.Listeners)
	for i, p := range places {
		nameClaimants(&f.Wires[i], p.link.Index, o.Config, running)
	}
	return f, nil
}

// speaksIPv4 spares the kernel the listing of its routes for each link of a pod.
func speaksIPv4(l link.Link) bool {
	return l.Up && !l.Loopback && slices.ContainsFunc(l.Addresses, func(a link.Address) bool { return a.Prefix.Addr().Is4() })
}

// place is where some virtual addresses are elected.
type place struct {
	link link.Link
	ipv4 bool
	vips []config.VIP
}

// placesOf lists them once each.
func placesOf(cfg *config.Config, links []link.Link) (out []place) {
	for _, v := range cfg.VIPs {
		a := v.First()
		l, err := link.Choose(links, a, v.Interface)
		if err != nil {
			continue
		}
		i := slices.IndexFunc(out, func(p place) bool { return p.link.Index == l.Index && p.ipv4 == a.Is4() })
		if i < 0 {
			i, out = len(out), append(out, place{link: l, ipv4: a.Is4()})
		}
		out[i].vips = append(out[i].vips, v)
	}
	return out
}

// peersOf says at which place each peer is met: where its subnet is, or else at the first one of its family. This host is none.
func peersOf(places []place, links []link.Link, peers []netip.Addr) [][]netip.Addr {
	out := make([][]netip.Addr, len(places))
	for _, a := range peers {
		family := func(p place) bool { return p.ipv4 == a.Is4() }
		i := slices.IndexFunc(places, func(p place) bool { return family(p) && p.near(a) })
		if i < 0 {
			i = slices.IndexFunc(places, family)
		}
		if i >= 0 && !slices.Contains(out[i], a) && !doctor.OnLinks(links, a) {
			out[i] = append(out[i], a)
		}
	}
	return out
}

// near tells whether a subnet of the link contains a.
func (p place) near(a netip.Addr) bool {
	return slices.ContainsFunc(p.link.Addresses, func(o link.Address) bool {
		s := o.Subnet()
		return !o.Ours && s.IsValid() && s.Contains(a)
	})
}

// keyOf is what is known of the key. A key that cannot be read is an error of the configuration.
func keyOf(cfg *config.Config) (doctor.Key, error) {
	out := doctor.Key{Enforced: cfg.Key.Mode == config.KeyEnforce, Window: cfg.Key.Window}
	secrets, err := cfg.Key.Load()
	if err != nil {
		return out, err
	}
	for _, s := range secrets {
		k, err := members.NewKey(config.DeriveKey(s.Bytes, "members"))
		if err != nil {
			return out, err
		}
		out.IDs = append(out.IDs, k.ID)
	}
	return out, nil
}
