package spread

import (
	"context"
	"errors"
	"net/netip"
	"slices"
	"time"

	"github.com/keepvip/keepvip/internal/kernel/spreadtables"
	"github.com/keepvip/keepvip/internal/serve/instance"
	"github.com/keepvip/keepvip/members/slots"
)

// reachLimit is for how long an answer of a backend's host is waited for. As those of members, so many in a row are left without one by a dead host.
const reachLimit = 250 * time.Millisecond

// backend is a server without keepvip as this node knows it.
type backend struct {
	Backend
	health  Health
	known   bool // it was asked once
	cancel  context.CancelFunc
	asking  bool
	askNext time.Time // when its host is asked again
	missed  int       // questions in a row that its host left without an answer
	dead    bool      // until it is healthy, or answers
}

// backendReport is something new about a backend.
type backendReport struct {
	about  *backend
	health *Health // nil: its host was asked whether it is there
	err    error   // as that of Host.Reach
}

// backends are the servers of a configuration, and what can be expected of each. It belongs to the service's goroutine; each backend that is checked has
// a goroutine of its own, which ends with the backend, and so has each question to a host.
type backends struct {
	host    Host
	jobs    *jobs
	reports chan backendReport
	all     []*backend
}

// configure goes on with the backends that stay, and begins with those that are new. One that is asked otherwise from now on, or has another
// weight, is what it was until the first answer.
func (s *backends) configure(list []Backend) {
	before := s.all
	s.all = nil
	for _, b := range list {
		if i := slices.IndexFunc(before, func(o *backend) bool { return o.ID == b.ID }); i >= 0 {
			s.all = append(s.all, before[i])
			before = slices.Delete(before, i, i+1)
			continue
		}
		one := s.watch(b)
		if i := slices.IndexFunc(before, one.same); i >= 0 && b.Watch != nil {
			one.known, one.health, one.dead = before[i].known, before[i].health, before[i].dead
		}
		s.all = append(s.all, one)
	}
	for _, gone := range before {
		gone.cancel()
	}
}

func (s *backends) watch(b Backend) *backend {
	ctx, cancel := context.WithCancel(s.jobs.ctx)
	one := &backend{Backend: b, cancel: cancel}
	if b.Watch == nil {
		one.known, one.health.Good = true, true
		return one
	}
	s.jobs.Go(func() {
		b.Watch(ctx, func(h Health) { send(ctx, s.reports, backendReport{about: one, health: &h}) })
	})
	return one
}

// take takes in what is new about a backend.
func (s *backends) take(now time.Time, r backendReport) {
	b := r.about
	switch {
	case r.health != nil:
		b.known, b.health = true, *r.health
		if b.health.Good {
			b.missed, b.dead = 0, false
		}
	case r.err == nil:
		b.asking, b.missed, b.dead, b.askNext = false, 0, false, now.Add(askLater)
	case !errors.Is(r.err, ErrSilent):
		b.asking = false
	default:
		b.asking = false
		b.missed++
		b.dead = b.dead || b.missed >= unanswered && !b.health.Good
	}
}

// reach asks the hosts of unhealthy backends whether they are there: connections to one that is not are lost.
func (s *backends) reach(now time.Time, p instance.Place, ports []Port) {
	for _, b := range s.all {
		port := b.target(ports)
		if !b.known || b.health.Good || b.asking || b.dead || port == 0 || now.Before(b.askNext) {
			continue
		}
		b.asking, b.askNext = true, now.Add(reachLimit) // also where the question fails at once, as on a link that is down
		at := netip.AddrPortFrom(b.Addresses[0], port)
		s.jobs.Go(func() {
			ctx, cancel := context.WithTimeout(s.jobs.ctx, reachLimit)
			defer cancel()
			send(s.jobs.ctx, s.reports, backendReport{about: b, err: s.host.Reach(ctx, p, at)})
		})
	}
}

// rows are the backends that a table has room for.
func (s *backends) rows() (rows []row) {
	for _, b := range s.all[:min(len(s.all), slots.Most)] {
		rows = append(rows, b.row())
	}
	return rows
}

var errNoBackend = errors.New("no backend is healthy")

// none is an error where there is nobody for new connections, and each backend was asked.
func (s *backends) none(rows []row) error {
	unknown := slices.ContainsFunc(s.all, func(b *backend) bool { return !b.known })
	takes := slices.ContainsFunc(rows, func(r row) bool { return r.Condition == slots.Fit && r.Weight > 0 })
	if takes || unknown {
		return nil
	}
	return errNoBackend
}

// same tells whether two are one server.
func (b *backend) same(o *backend) bool {
	return b.Port == o.Port && slices.Equal(b.Addresses, o.Addresses)
}

// target is where the service of TCP is; 0: there is none.
func (b *backend) target(ports []Port) uint16 {
	i := slices.IndexFunc(ports, func(p Port) bool { return p.Protocol != udp })
	switch {
	case i < 0:
		return 0
	case b.Port != 0:
		return b.Port
	}
	return ports[i].Target
}

func (b *backend) row() row {
	out := row{
		Address: b.Addresses[0], Weight: b.Weight, Condition: slots.Fit,
		at: spreadtables.MemberAt{Addresses: b.Addresses, Target: b.Port},
	}
	switch {
	case !b.known:
		out.Condition, out.Why = slots.Keeps, "it was not asked yet"
	case b.dead:
		out.Condition, out.Why = slots.Dead, "its host does not answer"
	case !b.health.Good:
		out.Condition, out.Why = slots.Keeps, b.health.Why
	case b.Weight == 0:
		out.Why = "its weight is 0"
	}
	return out
}
