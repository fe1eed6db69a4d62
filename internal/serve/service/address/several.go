package address

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"net/netip"
	"slices"
	"sync"
	"time"

	"github.com/keepvip/keepvip/election"
	"github.com/keepvip/keepvip/internal/serve/instance"
)

// Several serves the addresses of one instance, on one interface or on several: all of them, or none. Each interface has a service, and a
// fence, of its own. It implements what service does.
//
// Only what is on the interface of the election is drained, and watched for hosts that claim it: of the other interfaces the members are not
// known.
type Several struct {
	parts []*part
	log   *slog.Logger
}

var (
	_ instance.Service   = (*Several)(nil)
	_ instance.Announcer = (*Several)(nil)
	_ instance.Drainer   = (*Several)(nil)
)

// part is a Part with its service.
type part struct {
	service *service
	place   func() (instance.Place, error)

	mu      sync.Mutex       // guards what follows
	elector instance.Elector // nil between terms
	begun   bool
	why     error // why it has not begun
	role    election.Role
}

// NewSeveral makes a service of each part on host. blocked is told of the interface of the election.
func NewSeveral(all []Part, host Host, log *slog.Logger, blocked func(election.Fitness)) *Several {
	s := &Several{log: log}
	var first *service
	for _, p := range all {
		at, tell := host, blocked
		if p.Place != nil {
			at, tell = unwatched{host}, func(election.Fitness) {}
		}
		service := newService(first, p.watched(), at, log, tell)
		first = cmp.Or(first, service)
		s.parts = append(s.parts, &part{service: service, place: p.Place})
	}
	return s
}

// watched is the part as its service has it: nobody listens for one that is elsewhere.
func (p Part) watched() Part {
	if p.Place != nil {
		p.ProbeFirst, p.Yield = false, false
	}
	return p
}

// unwatched is a host on whose link nobody is known.
type unwatched struct{ Host }

// Listen implements Host.
func (unwatched) Listen(instance.Place, []netip.Addr, func(Claim)) (stop func()) { return func() {} }

// ListenChanges implements Host.
func (unwatched) ListenChanges(instance.Place, []netip.Addr, func(Claim) bool) (stop func()) {
	return func() {}
}

// Probe implements Host.
func (unwatched) Probe(instance.Place, []netip.Addr) error { return nil }

// Begin implements instance.Service.
func (s *Several) Begin(t instance.Term) {
	for _, p := range s.parts {
		p.begin(t)
	}
}

func (p *part) begin(t instance.Term) {
	place, err := t.Place, error(nil)
	if p.place != nil {
		place, err = p.place()
	}
	if err == nil {
		p.service.Begin(instance.Term{Place: place, Elector: t.Elector})
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.elector, p.begun, p.why, p.role = t.Elector, err == nil, err, election.Off
}

// beginLate begins a term whose place was not there when it began. It tells whether it has.
func (p *part) beginLate() bool {
	p.mu.Lock()
	elector, late := p.elector, p.elector != nil && !p.begun
	p.mu.Unlock()
	if late {
		p.begin(instance.Term{Elector: elector})
	}
	return late
}

// Apply implements instance.Service.
func (s *Several) Apply(ctx context.Context, d election.Decision) error {
	switch d.Role {
	case election.Serve:
		return s.serve(ctx, d)
	case election.Quiet:
		return s.passOn(ctx, d)
	default:
		return s.all(ctx, d)
	}
}

// all has every part do the same.
func (s *Several) all(ctx context.Context, d election.Decision) error {
	var errs []error
	for _, p := range s.parts {
		errs = append(errs, p.apply(ctx, d))
	}
	return errors.Join(errs...)
}

// serve serves all, or nothing.
func (s *Several) serve(ctx context.Context, d election.Decision) error {
	for _, p := range s.parts {
		err := p.apply(ctx, d)
		if err == nil {
			continue
		}
		if len(s.parts) == 1 {
			return err
		}
		d.Role, d.Granted, d.Rival = election.Standby, false, false
		if failed := s.all(ctx, d); failed != nil {
			s.log.Warn("the service has left something behind", "error", failed)
		}
		return err
	}
	return nil
}

// passOn passes on what is on the interface of the election, and then the rest at the same time. What cannot be passed on elsewhere, because
// the kernel is slow there, is let go of: another node may answer for it as soon as this returns.
func (s *Several) passOn(ctx context.Context, d election.Decision) error {
	if first := s.parts[0]; first.place == nil {
		if err := first.apply(ctx, d); err != nil {
			return err
		}
	}
	var wg sync.WaitGroup
	for _, p := range s.parts {
		if p.place == nil || p.now() != election.Serve {
			continue
		}
		wg.Go(func() {
			if err := p.passOn(ctx, d); err != nil {
				s.log.Warn("the service has left something behind", "error", err)
			}
		})
	}
	wg.Wait()
	return nil
}

// passOn passes on what is elsewhere, or lets it go.
func (p *part) passOn(ctx context.Context, d election.Decision) error {
	if p.apply(ctx, d) == nil {
		return nil
	}
	d.Role = election.Standby
	return p.apply(ctx, d)
}

func (p *part) now() election.Role {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.role
}

// apply has the part do what is decided. The former holder of what is elsewhere serves nobody any more.
func (p *part) apply(ctx context.Context, d election.Decision) error {
	if p.place != nil {
		d.Granted = false
	}
	p.mu.Lock()
	begun, why := p.begun, p.why
	p.mu.Unlock()
	if !begun && d.Role == election.Serve {
		return cmp.Or(why, errNoTerm)
	}
	if !begun && d.Role != election.Off {
		return nil
	}
	err := p.service.Apply(ctx, d)
	if err == nil {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.role = d.Role
	}
	return err
}

// HostChanged implements instance.Service.
func (s *Several) HostChanged(at instance.Place) {
	for _, p := range s.parts {
		if p.beginLate() {
			continue
		}
		place, err := at, error(nil)
		if p.place != nil {
			place, err = p.place()
		}
		if err == nil { // else the term ends
			p.service.HostChanged(place)
		}
	}
}

// End implements instance.Service.
//
// The first ends last, because the others ask for its lease.
func (s *Several) End() {
	for _, p := range slices.Backward(s.parts) {
		p.mu.Lock()
		begun := p.begun
		p.elector, p.begun, p.role = nil, false, election.Off
		p.mu.Unlock()
		if begun {
			p.service.End()
		}
	}
}

// Reconfigure takes over other configurations of the same interfaces, in the same order.
func (s *Several) Reconfigure(all []Part) {
	for i, p := range all[:min(len(all), len(s.parts))] {
		s.parts[i].service.Reconfigure(p.watched())
	}
}

// Announce implements instance.Announcer.
func (s *Several) Announce() error {
	for _, p := range s.parts {
		if err := p.service.Announce(); err != nil {
			return err
		}
	}
	return nil
}

// Drain implements instance.Drainer.
func (s *Several) Drain(until time.Time) {
	if first := s.parts[0]; first.place == nil {
		first.service.Drain(until)
	}
}

// Draining implements instance.Drainer.
func (s *Several) Draining() (busy bool, reset int) { return s.parts[0].service.Draining() }

// Status implements instance.Service.
func (s *Several) Status() instance.ServiceStatus {
	out := s.parts[0].service.Status()
	for _, p := range s.parts[1:] {
		out = joined(out, p.service.Status())
	}
	return out
}

// joined is what two interfaces come to: the worse of each.
func joined(a, b instance.ServiceStatus) instance.ServiceStatus {
	a.Passing = a.Passing || b.Passing
	a.Fence.Standing = a.Fence.Standing && b.Fence.Standing
	a.Fence.Reason = cmp.Or(a.Fence.Reason, b.Fence.Reason)
	a.Fence.Uncovered = cmp.Or(a.Fence.Uncovered, b.Fence.Uncovered)
	a.Fence.Repairs += b.Fence.Repairs
	a.Fence.Repaired = later(a.Fence.Repaired, b.Fence.Repaired)
	a.Fence.Renewals += b.Fence.Renewals
	a.Fence.RenewalErrors += b.Fence.RenewalErrors
	a.Fence.Lapses += b.Fence.Lapses
	a.Lapsed = sooner(a.Lapsed, b.Lapsed)
	a.Conflicts = slices.Concat(a.Conflicts, b.Conflicts)
	a.Announcements += b.Announcements
	a.AnnouncementFails += b.AnnouncementFails
	a.Restored += b.Restored
	a.Missing = cmp.Or(a.Missing, b.Missing)
	return a
}

// Close implements instance.Service.
func (s *Several) Close() error {
	var errs []error
	for _, p := range slices.Backward(s.parts) {
		errs = append(errs, p.service.Close())
	}
	return errors.Join(errs...)
}
