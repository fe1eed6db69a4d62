package daemon

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"github.com/keepvip/keepvip/arp"
	"github.com/keepvip/keepvip/election"
	"github.com/keepvip/keepvip/internal/config"
	"github.com/keepvip/keepvip/internal/kernel/link"
	"github.com/keepvip/keepvip/internal/kernel/spreadtables"
	"github.com/keepvip/keepvip/internal/serve/instance"
	"github.com/keepvip/keepvip/internal/serve/service/address"
	"github.com/keepvip/keepvip/internal/serve/service/spread"
)

// joined is the address service of an instance, and beside it the spread service where its load is spread. The addresses come first: the other
// one may wait for the kernel for long.
type joined struct {
	instance.Service // of the addresses
	host             spread.Host
	log              *slog.Logger
	spread           atomic.Pointer[spread.Service] // nil: there is none
	cfg              spread.Config                  // of spread; belongs to who calls configure
	term             instance.Term                  // its Elector is nil between terms; belongs to who calls Begin
}

var (
	_ instance.Service   = (*joined)(nil)
	_ instance.Announcer = (*joined)(nil)
	_ instance.Drainer   = (*joined)(nil)
	_ instance.Judged    = (*joined)(nil)
	_ spread.Host        = spreadHost{}
	_ spread.Plane       = (*spreadtables.Tables)(nil)
)

// spreadEnd tells the fence until when what is spread goes on in the kernel. A configuration has one, which its service is put into.
type spreadEnd struct {
	service atomic.Pointer[spread.Service]
}

func (e *spreadEnd) until() time.Time {
	if s := e.service.Load(); s != nil {
		return s.Until()
	}
	return time.Time{}
}

// spreadOf has the ports of v left to the members that are spread; without any the holder serves everything.
func spreadOf(v config.VIP) (*address.Spread, *spreadEnd) {
	end := &spreadEnd{}
	out := &address.Spread{Until: end.until, Fenced: v.Spread.Via == config.ViaMasquerade}
	for _, p := range v.SpreadPorts() {
		out.Ports = append(out.Ports, address.Port{Protocol: protocolOf(p.Protocol), Number: p.Port})
	}
	return out, end
}

func protocolOf(p config.Protocol) uint8 {
	if p == config.ProtocolUDP {
		return unix.IPPROTO_UDP
	}
	return unix.IPPROTO_TCP
}

// joinSpread has the service of an instance spread the load, too, and turn that on and off by a reload.
func (b *builder) joinSpread(in *instance.Config, v config.VIP, of *address.Spread, end *spreadEnd) {
	cfg := b.spreadConfig(v)
	log := b.log.With("vip", v.Name)
	serve, reconfigure := in.Serve, in.Reconfigure
	in.Serve = func(blocked func(instance.Blocked)) instance.Service {
		j := &joined{Service: serve(blocked), host: spreadHost{b.host}, log: log}
		j.configure(cfg, end, false)
		return j
	}
	in.Reconfigure = func(s instance.Service) {
		j, ok := s.(*joined)
		if !ok {
			return
		}
		of.Ending = j.ending(cfg, time.Now())
		reconfigure(j.Service)
		j.configure(cfg, end, true)
	}
}

// spreadConfig is how v is spread; nil: it is not.
func (b *builder) spreadConfig(v config.VIP) *spread.Config {
	ports := v.SpreadPorts()
	if len(ports) == 0 {
		return nil
	}
	cfg := &spread.Config{
		Name: v.Name, Weight: v.Spread.Weight, Members: v.Spread.Members, Senders: v.Candidates, Interval: v.VRRP.AdvertisementInterval,
		Masquerade: v.Spread.Via == config.ViaMasquerade,
		Keyed:      b.keyed,
		Stays:      func() bool { return b.spreading.has(v.Name) },
	}
	if b.followers != nil {
		cfg.Followers = b.followers
	}
	for _, a := range v.Addresses {
		cfg.Addresses = append(cfg.Addresses, a.Addr())
	}
	cfg.Backends = b.backends(v)
	for _, p := range ports {
		cfg.Ports = append(cfg.Ports, spread.Port{Protocol: protocolOf(p.Protocol), Port: p.Port, Target: p.Target, Check: p.Check})
	}
	return cfg
}

// configure begins or changes the spreading, or has it end.
func (j *joined) configure(cfg *spread.Config, end *spreadEnd, reloaded bool) {
	s := j.spread.Load()
	switch {
	case cfg == nil && s != nil:
		j.cfg.Ports = nil
		if !s.Reconfigure(j.cfg) {
			s = nil
		}
	case cfg == nil:
	case s != nil && s.Reconfigure(*cfg):
		j.cfg = *cfg
	default:
		own := *cfg
		own.Reloaded = reloaded
		s = spread.New(own, j.host, j.log)
		if j.term.Elector != nil {
			s.Begin(j.term)
		}
		j.cfg = *cfg
	}
	j.spread.Store(s)
	if end != nil {
		end.service.Store(s)
	}
}

// ending are the ports that are spread until now, and not by cfg.
func (j *joined) ending(cfg *spread.Config, now time.Time) (out []address.Ending) {
	s := j.spread.Load()
	if s == nil || s.Finished() {
		return nil
	}
	var ports []spread.Port
	if cfg != nil {
		ports = cfg.Ports
	}
	for _, e := range s.EndingWithout(ports) {
		if e.Until.IsZero() {
			e.Until = now.Add(spread.EndsWithin)
		}
		out = append(out, address.Ending{Port: address.Port{Protocol: e.Protocol, Number: e.Port.Port}, Until: e.Until})
	}
	return out
}

// Begin implements instance.Service.
func (j *joined) Begin(t instance.Term) {
	j.Service.Begin(t)
	j.term = t
	if s := j.spread.Load(); s != nil {
		s.Begin(t)
	}
}

// Apply implements instance.Service. What the holder translates ends before the addresses go, so that clients are told in their name.
func (j *joined) Apply(ctx context.Context, d election.Decision) error {
	if s := j.spread.Load(); s != nil {
		_ = s.Apply(ctx, d) // has no error
	}
	return j.Service.Apply(ctx, d)
}

// HostChanged implements instance.Service.
func (j *joined) HostChanged(p instance.Place) {
	j.Service.HostChanged(p)
	j.term.Place = p
	if s := j.spread.Load(); s != nil {
		s.HostChanged(p)
	}
}

// Judged implements instance.Judged.
func (j *joined) Judged() {
	if s := j.spread.Load(); s != nil {
		s.Judged()
	}
}

// End implements instance.Service.
func (j *joined) End() {
	j.Service.End()
	j.term = instance.Term{}
	if s := j.spread.Load(); s != nil {
		s.End()
	}
}

// Status implements instance.Service.
func (j *joined) Status() instance.ServiceStatus {
	out := j.Service.Status()
	if s := j.spread.Load(); s != nil {
		out.Spread = s.Status().Spread
	}
	return out
}

// Close implements instance.Service.
func (j *joined) Close() error {
	err := j.Service.Close()
	if s := j.spread.Swap(nil); s != nil {
		if err := s.Close(); err != nil {
			j.log.Warn("spreading has left something behind", "error", err)
		}
	}
	return err
}

// Announce implements instance.Announcer.
func (j *joined) Announce() error {
	if a, ok := j.Service.(instance.Announcer); ok {
		return a.Announce()
	}
	return instance.ErrNotHeld
}

// Drain implements instance.Drainer.
func (j *joined) Drain(until time.Time) {
	if d, ok := j.Service.(instance.Drainer); ok {
		d.Drain(until)
	}
	if s := j.spread.Load(); s != nil {
		s.Drain(until)
	}
}

// Draining implements instance.Drainer.
func (j *joined) Draining() (busy bool, reset int) {
	if d, ok := j.Service.(instance.Drainer); ok {
		busy, reset = d.Draining()
	}
	if s := j.spread.Load(); s != nil {
		more, _ := s.Draining()
		busy = busy || more
	}
	return busy, reset
}

// spreading are the names of the entries that the newest configuration spreads. The zero value has none.
type spreading struct {
	mu    sync.Mutex // guards names
	names []string
}

func (s *spreading) set(vips []config.VIP) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.names = nil
	for _, v := range vips {
		if len(v.SpreadPorts()) > 0 {
			s.names = append(s.names, v.Name)
		}
	}
}

func (s *spreading) has(name string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Contains(s.names, name)
}

// removeSpread takes away what an earlier run has spread and this one does not.
func (b *builder) removeSpread(vips []config.VIP) error {
	var keep []string
	for _, v := range vips {
		if cfg := b.spreadConfig(v); cfg != nil {
			keep = append(keep, cfg.Tables()...)
		}
	}
	gone, err := spreadtables.Cleanup(keep...)
	if len(gone) > 0 {
		b.log.Info("tables of what an earlier run has spread removed", "tables", gone)
	}
	return err
}

// spreadHost is the host as a spread service sees it.
type spreadHost struct{ *host }

// Open implements spread.Host.
func (h spreadHost) Open(name string) (spread.Plane, error) { return spreadtables.Open(name, h.watch) }

// Own implements spread.Host.
func (h spreadHost) Own(p instance.Place, addresses []netip.Addr) []netip.Addr {
	return h.seen.toward(p, addresses)
}

// toward are the own addresses at p that suit addresses best, one of each family.
func (s *seen) toward(p instance.Place, addresses []netip.Addr) []netip.Addr {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []netip.Addr
	i := slices.IndexFunc(s.own, func(l link.Link) bool { return l.Index == p.Index })
	for _, a := range addresses {
		if i < 0 || slices.ContainsFunc(out, func(o netip.Addr) bool { return o.Is4() == a.Is4() }) {
			continue
		}
		if own, ok := link.SourceToward(s.own[i], a); p.Source.Is4() && a.Is4() {
			out = append(out, p.Source)
		} else if ok {
			out = append(out, own.WithZone(""))
		} else if a.Is6() && p.Source.Is6() {
			out = append(out, p.Source.WithZone(""))
		}
	}
	return out
}

// Ask implements spread.Host.
func (h spreadHost) Ask(ctx context.Context, p instance.Place, member netip.Addr) error {
	asker, err := arp.OpenAsker(&net.Interface{Index: p.Index, Name: p.Name}, p.Source, member.WithZone(""))
	if err != nil {
		return err
	}
	defer asker.Close()
	_, err = asker.Ask(ctx)
	if errors.Is(err, arp.ErrSilent) {
		return h.silent(p, err)
	}
	return err
}

// silent is the error for a host that has not answered by the link at p. The kernel drops what is sent without a carrier, and says nothing of it.
func (h spreadHost) silent(p instance.Place, err error) error {
	if !h.seen.up(p) {
		return fmt.Errorf("%s is down", p.Name)
	}
	return fmt.Errorf("%w: %w", spread.ErrSilent, err)
}
