package spread

import (
	"context"
	"errors"
	"net/netip"
	"slices"
	"time"

	"github.com/keepvip/keepvip/internal/check/health"
	"github.com/keepvip/keepvip/internal/config"
	"github.com/keepvip/keepvip/internal/kernel/spreadtables"
	"github.com/keepvip/keepvip/internal/serve/instance"
	"github.com/keepvip/keepvip/members/slots"
)

// reachLimit is for how long an answer of a backend's host is waited for. As those of members, so many in a row are left without one by a dead host.
const reachLimit = 250 * time.Millisecond

// Backend is a server without keepvip, and what this node knows of it.
type Backend struct {
	config.Backend
	ID string // of all that is configured of it, and of what it is asked
	// Watch asks it for its health until ctx ends, and reports what is found, and each change of it. Nil: it is always
	// good.
	Watch func(ctx context.Context, report func(health.Verdict))

	// The rest belongs to the service's goroutine.
	verdict health.Verdict // unknown: it was not asked yet
	cancel  context.CancelFunc
	inquiry // of its host
}

// backends are the servers of a configuration, and what can be expected of each. It belongs to the service's goroutine; each backend that is checked has
// a goroutine of its own, which ends with the backend, and so has each question to a host.
type backends struct {
	host    Host
	jobs    *jobs
	reports chan func(now time.Time) // what is new about one is taken in by a call
	all     []*Backend
}

// configure goes on with the backends that stay, and begins with those that are new. One that is asked otherwise from now on, or has another
// weight, is what it was until the first answer.
func (s *backends) configure(list []*Backend) {
	before := s.all
	s.all = nil
	for _, b := range list {
		if i := slices.IndexFunc(before, func(o *Backend) bool { return o.ID == b.ID }); i >= 0 {
			s.all = append(s.all, before[i])
			before = slices.Delete(before, i, i+1)
			continue
		}
		s.watch(b)
		if i := slices.IndexFunc(before, b.same); i >= 0 && b.Watch != nil {
			b.verdict, b.dead = before[i].verdict, before[i].dead
		}
		s.all = append(s.all, b)
	}
	for _, gone := range before {
		gone.cancel()
	}
}

func (s *backends) watch(b *Backend) {
	var ctx context.Context
	ctx, b.cancel = context.WithCancel(s.jobs.ctx)
	if b.Watch == nil {
		b.verdict.State = health.Healthy
		return
	}
	s.jobs.Go(func() {
		b.Watch(ctx, func(is health.Verdict) { send(ctx, s.reports, func(time.Time) { b.judged(is) }) })
	})
}

// known tells whether the backend was asked once.
func (b *Backend) known() bool { return b.verdict.State != health.Unknown }

// good tells whether its newest verdict is.
func (b *Backend) good() bool { return b.verdict.State == health.Healthy }

// judged takes in what was found out about a backend.
func (b *Backend) judged(is health.Verdict) {
	b.verdict = is
	if b.good() {
		b.missed, b.dead = 0, false
	}
}

// answered takes in what became of a question to its host.
func (b *Backend) answered(now time.Time, err error) {
	b.inquiry.answered(now, err)
	switch {
	case err == nil:
		b.dead = false
	case errors.Is(err, ErrSilent):
		b.dead = b.dead || b.missed >= unanswered && !b.good()
	}
}

// reach asks the hosts of unhealthy backends whether they are there: connections to one that is not are lost.
func (s *backends) reach(now time.Time, p instance.Place, ports []config.SpreadPort) {
	for _, b := range s.all {
		port := b.target(ports)
		if !b.known() || b.good() || b.asking || b.dead || port == 0 || now.Before(b.askNext) {
			continue
		}
		b.asking, b.askNext = true, now.Add(reachLimit) // also where the question fails at once, as on a link that is down
		at := netip.AddrPortFrom(b.Addresses[0], port)
		s.jobs.Go(func() {
			ctx, cancel := context.WithTimeout(s.jobs.ctx, reachLimit)
			defer cancel()
			err := s.host.Reach(ctx, p, at)
			send(s.jobs.ctx, s.reports, func(now time.Time) { b.answered(now, err) })
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
	unknown := slices.ContainsFunc(s.all, func(b *Backend) bool { return !b.known() })
	takes := slices.ContainsFunc(rows, row.Owns)
	if takes || unknown {
		return nil
	}
	return errNoBackend
}

// same tells whether two are one server.
func (b *Backend) same(o *Backend) bool {
	return b.Port == o.Port && slices.Equal(b.Addresses, o.Addresses)
}

// target is where the service of TCP is; 0: there is none.
func (b *Backend) target(ports []config.SpreadPort) uint16 {
	i := slices.IndexFunc(ports, config.SpreadPort.TCP)
	switch {
	case i < 0:
		return 0
	case b.Port != 0:
		return b.Port
	}
	return ports[i].Target
}

func (b *Backend) row() row {
	out := row{
		Member:   slots.Member{Address: b.Addresses[0], Condition: slots.Fit, Weight: b.Weight},
		MemberAt: spreadtables.MemberAt{Addresses: b.Addresses, Target: b.Port},
	}
	switch {
	case !b.known():
		out.Condition, out.Why = slots.Keeps, "it was not asked yet"
	case b.dead:
		out.Condition, out.Why = slots.Dead, "its host does not answer"
	case !b.good():
		out.Condition, out.Why = slots.Keeps, b.verdict.Reason
	case b.Weight == 0:
		out.Why = "its weight is 0"
	}
	return out
}
