package daemon

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/keepvip/keepvip/election"
	"github.com/keepvip/keepvip/internal/config"
	"github.com/keepvip/keepvip/internal/kernel/fence"
	"github.com/keepvip/keepvip/internal/serve/instance"
	"github.com/keepvip/keepvip/internal/serve/service/address"
	"github.com/keepvip/keepvip/internal/serve/service/dhcplease"
	"github.com/keepvip/keepvip/internal/serve/service/route"
	"github.com/keepvip/keepvip/internal/serve/service/spread"
)

// servedAddresses is the service of an entry whose addresses this node may hold: that of the addresses, beside it the one that spreads their
// load, the one that keeps leases of a DHCP server, and the one that announces a route to them. The addresses come first: the others may wait for the
// kernel for long. The route is there after the addresses, and gone before them, but where they go by Quiet already.
type servedAddresses struct {
	build     *builder
	log       *slog.Logger
	addresses held
	host      spread.Host
	lease     *dhcplease.Service             // nil: the addresses are bound nowhere
	route     *route.Service                 // nil: there is none
	spread    atomic.Pointer[spread.Service] // nil: there is none
	term      instance.Term                  // its Elector is nil between terms; belongs to the caller of Begin

	telling  sync.Mutex        // guards decision, and keeps what spread is told of it in order
	decision election.Decision // the newest
}

// held is the part that holds the addresses.
type held interface {
	instance.Service
	instance.Announcer
	instance.Drainer
	Reconfigure(all []address.Part)
}

var (
	_ instance.Service      = (*servedAddresses)(nil)
	_ instance.Announcer    = (*servedAddresses)(nil)
	_ instance.Drainer      = (*servedAddresses)(nil)
	_ instance.Judged       = (*servedAddresses)(nil)
	_ instance.Reconfigurer = (*servedAddresses)(nil)
	_ held                  = (*address.Several)(nil)
)

// serveAddresses has an instance hold its addresses, whichever way it is elected.
func (b *builder) serveAddresses(in *instance.Config, blocked func(election.Fitness)) *servedAddresses {
	s := &servedAddresses{build: b, log: b.log.With("vip", in.VIP.Name), host: spreadHost{b.host, b, &company{}}}
	s.addresses = address.NewSeveral(b.partsOf(in, s.left(in.VIP, nil)), b.host, s.log, blocked)
	s.lease = dhcplease.New(leasesOf(in.VIP), openDHCP, s.log)
	if in.VIP.Routed() {
		s.route = route.New(in.VIP, b.routes(), s.log)
	}
	s.configure(in.VIP, false)
	return s
}

// Reconfigure implements instance.Reconfigurer.
func (s *servedAddresses) Reconfigure(in *instance.Config) {
	s.addresses.Reconfigure(s.build.partsOf(in, s.left(in.VIP, s.ending(in.VIP, time.Now()))))
	s.lease.Reconfigure(leasesOf(in.VIP))
	s.configure(in.VIP, true)
}

// left has the ports of v left to the members that are spread; without any the holder serves everything.
func (s *servedAddresses) left(v config.VIP, ending []fence.Port) *address.Spread {
	out := &address.Spread{Until: s.until, Fenced: v.Spread.Via == config.ViaMasquerade}
	for _, p := range v.SpreadPorts() {
		out.Ports = append(out.Ports, fence.Port{Protocol: p.Protocol.Number(), Number: p.Port})
	}
	out.Ports = append(out.Ports, ending...)
	return out
}

// until tells the fence until when what is spread goes on in the kernel.
func (s *servedAddresses) until() time.Time {
	if at := s.spread.Load(); at != nil {
		return at.Until()
	}
	return time.Time{}
}

// configure begins or changes the spreading, or has it end.
func (s *servedAddresses) configure(v config.VIP, reloaded bool) {
	now := s.spread.Load()
	switch {
	case now != nil && now.Reconfigure(v):
	case len(v.SpreadPorts()) == 0:
		now = nil
	default:
		now = spread.New(v, reloaded, s.host, s.log)
		if s.term.Elector != nil {
			now.Begin(s.term)
		}
	}
	s.join(now)
}

// join has at spread the load from now on; nil: nobody. The newest decision may be older than it, and no other one need come before the address leaves.
func (s *servedAddresses) join(at *spread.Service) {
	s.telling.Lock()
	defer s.telling.Unlock()
	if s.spread.Swap(at) != at && at != nil {
		_ = at.Apply(context.Background(), s.decision) // has no error
	}
}

// tellSpread has the load spread as d says.
func (s *servedAddresses) tellSpread(ctx context.Context, d election.Decision) {
	s.telling.Lock()
	defer s.telling.Unlock()
	s.decision = d
	if at := s.spread.Load(); at != nil {
		_ = at.Apply(ctx, d) // has no error
	}
}

// ending are the ports that are spread until now, and not by v.
func (s *servedAddresses) ending(v config.VIP, now time.Time) (out []fence.Port) {
	at := s.spread.Load()
	if at == nil || at.Finished() {
		return nil
	}
	for _, e := range at.EndingWithout(v.SpreadPorts()) {
		if e.Until.IsZero() {
			e.Until = now.Add(spread.EndsWithin)
		}
		out = append(out, fence.Port{Protocol: e.Protocol.Number(), Number: e.Port, Ends: e.Until})
	}
	return out
}

// beside are the services beside the addresses.
func (s *servedAddresses) beside() (out []instance.Service) {
	if s.lease != nil {
		out = append(out, s.lease)
	}
	if at := s.spread.Load(); at != nil {
		out = append(out, at)
	}
	if s.route != nil {
		out = append(out, s.route)
	}
	return out
}

// Begin implements instance.Service.
func (s *servedAddresses) Begin(t instance.Term) {
	s.addresses.Begin(t)
	s.term = t
	for _, b := range s.beside() {
		b.Begin(t)
	}
}

// Apply implements instance.Service. What the holder translates ends before the addresses go, so that clients are told in
// their name. A route that the kernel refuses leaves the addresses on the link, and is tried again.
//
// With Quiet the route goes after the addresses have followed: where they refuse it nothing changes, and who wants them
// asks again and again. A route that came and went each time would be damped by routers. Nobody is granted the addresses
// before this returns.
func (s *servedAddresses) Apply(ctx context.Context, d election.Decision) error {
	routeLast := d.Role == election.Serve || d.Role == election.Quiet
	if !routeLast {
		s.announceRoute(ctx, d)
	}
	s.tellSpread(ctx, d)
	err := s.addresses.Apply(ctx, d)
	if err != nil && d.Role == election.Quiet {
		return err
	}
	s.keepLeases(ctx, d, err == nil)
	if err == nil && routeLast {
		s.announceRoute(ctx, d)
	}
	return err
}

// keepLeases has leases kept of addresses that are bound and announced.
func (s *servedAddresses) keepLeases(ctx context.Context, d election.Decision, bound bool) {
	if d.Role == election.Serve && !bound {
		d.Role = election.Standby
	}
	if s.lease != nil {
		_ = s.lease.Apply(ctx, d) // has no error
	}
}

func (s *servedAddresses) announceRoute(ctx context.Context, d election.Decision) {
	if s.route == nil {
		return
	}
	if err := s.route.Apply(ctx, d); err != nil {
		s.log.Warn("the route to the address is not as it should be", "error", err)
	}
}

// HostChanged implements instance.Service.
func (s *servedAddresses) HostChanged(p instance.Place) {
	s.addresses.HostChanged(p)
	s.term.Place = p
	for _, b := range s.beside() {
		b.HostChanged(p)
	}
}

// Judged implements instance.Judged.
func (s *servedAddresses) Judged() {
	if at := s.spread.Load(); at != nil {
		at.Judged()
	}
}

// End implements instance.Service.
func (s *servedAddresses) End() {
	s.addresses.End()
	s.term = instance.Term{}
	for _, b := range s.beside() {
		b.End()
	}
}

// Status implements instance.Service.
func (s *servedAddresses) Status() instance.ServiceStatus {
	out := s.addresses.Status()
	if at := s.spread.Load(); at != nil {
		out.Spread = at.Status().Spread
	}
	if s.lease != nil {
		out.Leases = s.lease.Status().Leases
	}
	if s.route == nil {
		return out
	}
	by := s.route.Status()
	out.Restored += by.Restored
	out.Routes = by.Routes
	if out.Fence.Standing && !by.Fence.Standing && out.Fence.Uncovered == "" {
		out.Fence.Uncovered, out.Fence.Code = by.Fence.Reason, by.Fence.Code
	}
	return out
}

// Announce implements instance.Announcer.
func (s *servedAddresses) Announce() error {
	if err := s.addresses.Announce(); err != nil || s.route == nil {
		return err
	}
	return s.route.Announce()
}

// Drain implements instance.Drainer.
func (s *servedAddresses) Drain(until time.Time) {
	s.addresses.Drain(until)
	if at := s.spread.Load(); at != nil {
		at.Drain(until)
	}
}

// Draining implements instance.Drainer.
func (s *servedAddresses) Draining() (busy bool, reset int) {
	busy, reset = s.addresses.Draining()
	if at := s.spread.Load(); at != nil {
		more, _ := at.Draining()
		busy = busy || more
	}
	return busy, reset
}

// Close implements instance.Service.
func (s *servedAddresses) Close() error {
	var gone error
	if s.route != nil {
		gone = s.route.Close()
	}
	err := errors.Join(gone, s.addresses.Close())
	if s.lease != nil {
		err = errors.Join(err, s.lease.Close())
	}
	if at := s.spread.Swap(nil); at != nil {
		if err := at.Close(); err != nil {
			s.log.Warn("spreading has left something behind", "error", err)
		}
	}
	return err
}
